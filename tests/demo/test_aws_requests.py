"""Requests that would be sent: built by botocore, checked against what AWS documents, and never sent."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from demo.aws_models import UnknownOperationError
from demo.aws_operations import SERVICES, AwsOperation
from demo.aws_requests import MAX_BODY_SHOWN, InvalidArgumentsError, build_request
from tests.demo.schema_pieces import example

Catalog = Mapping[str, AwsOperation]

CASES: list[dict[str, Any]] = json.loads((Path(__file__).parent / "aws_requests.json").read_text(encoding="utf-8"))


def test_the_cases_cover_every_service(catalog: Catalog) -> None:
    assert len(CASES) >= 30
    assert {catalog[case["tool"]].service for case in CASES} == set(SERVICES)


@pytest.mark.parametrize("case", CASES, ids=[case["tool"] for case in CASES])
def test_valid_arguments_become_the_documented_request(catalog: Catalog, case: dict[str, Any]) -> None:
    operation = catalog[case["tool"]]
    Draft202012Validator(operation.input_schema).validate(case["arguments"])
    request = build_request(
        operation.service.key, operation.operation, case["arguments"], idempotency_key="run-1.call-2"
    )
    for part in ("method", "path", "query", "body", "host_prefix"):
        if part in case:
            assert request[part] == case[part]
    assert case.get("headers", {}).items() <= request["headers"].items()
    assert case.get("contains", "") in (request["body"] or "")
    assert json.loads(json.dumps(request)) == request


@pytest.mark.parametrize("depth", [0, 2])
def test_every_operation_can_be_serialised(catalog: Catalog, depth: int) -> None:
    for operation in catalog.values():
        if depth and operation.service.key == "ec2":
            continue  # a third of all operations, one protocol: the least arguments have to do
        arguments = example(operation.input_schema, depth=depth)
        request = build_request(operation.service.key, operation.operation, arguments)
        assert request["path"].startswith("/"), operation.name
        assert request["body_bytes"] >= len(request["body"] or ""), operation.name


def test_the_same_call_is_the_same_request() -> None:
    arguments = {"ImageId": "ami-1", "MinCount": 1, "MaxCount": 1}
    first = build_request("ec2", "RunInstances", arguments, idempotency_key="one")
    assert build_request("ec2", "RunInstances", arguments, idempotency_key="one") == first
    assert build_request("ec2", "RunInstances", arguments, idempotency_key="two") != first


def test_a_token_of_the_caller_is_kept() -> None:
    arguments = {"ImageId": "ami-1", "MinCount": 1, "MaxCount": 1, "ClientToken": "mine"}
    assert "ClientToken=mine" in build_request("ec2", "RunInstances", arguments)["body"]


def test_the_arguments_are_not_changed() -> None:
    arguments = {"Bucket": "b", "Key": "k", "Body": "aGVsbG8=", "Metadata": {"a": "b"}}
    before = json.dumps(arguments)
    build_request("s3", "PutObject", arguments)
    assert json.dumps(arguments) == before


@pytest.mark.parametrize("body", ["//79", "AAEC", "YWFh" * (MAX_BODY_SHOWN // 3 + 1)])
def test_a_body_that_is_no_text_or_too_long_is_given_as_its_size(body: str) -> None:
    request = build_request("s3", "PutObject", {"Bucket": "b", "Key": "k", "Body": body})
    assert request["body"] is None
    assert request["body_bytes"] == len(body) // 4 * 3


@pytest.mark.parametrize(
    ("service", "operation", "arguments", "problems"),
    [
        ("s3", "GetBucketPolicyStatus", {}, ["the arguments: needs the field Bucket"]),
        ("s3", "GetBucketPolicyStatus", {"Bucket": ""}, ["Bucket: must not be empty: it is a part of the address"]),
        ("s3", "GetBucketPolicyStatus", {"Bucket": 7}, ["Bucket: has the wrong type"]),
        ("s3", "PutObject", {"Bucket": "b", "Key": "k", "Body": "not base64"}, ["Body: must be base64"]),
        ("sts", "GetCallerIdentity", {"x": 1}, ["the arguments: has a field that this operation does not know"]),
        (
            "sqs",
            "ListQueues",
            {"QueueNamePrefix": "\ud800"},
            ["the arguments: must be JSON: no NaN, no lone surrogate"],
        ),
        ("sqs", "ListQueues", {"MaxResults": None}, ["MaxResults: has the wrong type"]),
        ("kms", "DescribeKey", {"KeyId": ""}, ["KeyId: must have at least 1 characters or entries"]),
        (
            "dynamodb",
            "PutItem",
            {"TableName": "t", "Item": {"a": {"L": [{"B": "?"}, {"S": 1}]}}},
            ["Item.a.L[0].B: must be base64", "Item.a.L[1].S: has the wrong type"],
        ),
        (
            "events",
            "PutEvents",
            {"Entries": [{"Time": "2026-01-31"}, {"Time": "tomorrow"}, {"Time": "2026-01-31T12:00:00"}]},
            [
                f"Entries[{at}].Time: must be an ISO 8601 time with an offset, such as 2026-01-31T12:00:00Z"
                for at in range(3)
            ],
        ),
    ],
)
def test_wrong_arguments_are_one_error_with_all_problems(
    service: str, operation: str, arguments: dict[str, Any], problems: list[str]
) -> None:
    with pytest.raises(InvalidArgumentsError) as caught:
        build_request(service, operation, arguments)
    assert [str(problem) for problem in caught.value.problems] == problems
    assert caught.value.code == "INVALID_ARGUMENTS"


@pytest.mark.parametrize("window", [{}, {"WallClockWindow": {}, "SlidingWindow": {}}])
def test_a_union_takes_exactly_one_member(window: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgumentsError, match="EvaluationWindow: needs exactly one of SlidingWindow, WallClock"):
        build_request("cloudwatch", "PutMetricAlarm", {"AlarmName": "a", "EvaluationWindow": window})


NOT_WHAT_IS_WANTED = [
    None,
    True,
    0,
    -1,
    1.5,
    float("nan"),
    10**30,
    "",
    "\ud800",
    "\x00",
    [],
    [None],
    {},
    {"a": {"a": 1}},
]
TIMES_AT_THE_EDGE = ["2026-01-31", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00"]
HOSTILE = st.sampled_from([*NOT_WHAT_IS_WANTED, *TIMES_AT_THE_EDGE])


def with_hostile_parts(value: Any, choose: st.DataObject) -> Any:
    if choose.draw(st.integers(0, 5)) == 0:
        return choose.draw(HOSTILE)
    if isinstance(value, dict):
        return {key: with_hostile_parts(part, choose) for key, part in value.items()}
    return [with_hostile_parts(part, choose) for part in value] if isinstance(value, list) else value


@settings(max_examples=150)
@given(choose=st.data())
def test_hostile_arguments_are_accepted_or_one_error_of_ours(catalog: Catalog, choose: st.DataObject) -> None:
    operation = catalog[choose.draw(st.sampled_from(sorted(catalog)))]
    for name, value in example(operation.input_schema, depth=2).items():
        with suppress(InvalidArgumentsError):
            arguments = {**example(operation.input_schema), name: with_hostile_parts(value, choose)}
            build_request(operation.service.key, operation.operation, arguments)


def test_arguments_that_nest_without_end_are_refused() -> None:
    value: dict[str, Any] = {"S": "leaf"}
    for _ in range(5_000):
        value = {"L": [value]}
    with pytest.raises(InvalidArgumentsError, match="nest too deeply"):
        build_request("dynamodb", "PutItem", {"TableName": "pets", "Item": {"id": value}})


def test_an_error_never_repeats_a_value() -> None:
    marker = "MARKER-7f3a"
    arguments: dict[str, Any] = {
        "Bucket": [marker],
        "Key": {"x": marker},
        "Body": marker,
        "Expires": marker,
        marker: 1,
        "ACL": 5,
    }
    with pytest.raises(InvalidArgumentsError) as caught:
        build_request("s3", "PutObject", arguments)
    assert marker not in str(caught.value)
    assert len(caught.value.problems) == 6


@pytest.mark.parametrize(("service", "operation"), [("teleport", "Beam"), ("s3", "Beam"), ("s3", "get_object")])
def test_an_unknown_operation_is_the_programmers_error(service: str, operation: str) -> None:
    with pytest.raises(UnknownOperationError, match=f"no (service '{service}'|operation '{operation}')"):
        build_request(service, operation, {})


def test_no_credentials_no_region_and_no_settings_are_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "broken"))
    (tmp_path / "broken").write_text("[[[ this is no configuration", encoding="utf-8")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "MARKER-7f3a")
    request = build_request("sts", "GetCallerIdentity", {})
    assert "MARKER" not in json.dumps(request)
    assert "Authorization" not in request["headers"]
