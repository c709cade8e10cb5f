"""The catalog of the demo: what is in it, and that it is the same every time."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping

import pytest

from demo.aws_models import UnknownOperationError
from demo.aws_operations import SERVICES, AwsOperation, AwsService, aws_operations
from surface.canonical import canonical_json
from surface.catalog_rules import entry_faults

Catalog = Mapping[str, AwsOperation]


def test_it_holds_about_two_thousand_operations_of_twenty_services(catalog: Catalog) -> None:
    services = Counter(operation.service.key for operation in catalog.values())
    assert len(catalog) >= 1_900
    assert len(services) == len(SERVICES) >= 20
    assert min(services.values()) >= 10


def test_every_service_has_a_key_and_a_title_of_its_own() -> None:
    assert len({service.key for service in SERVICES}) == len(SERVICES)
    assert len({service.title for service in SERVICES}) == len(SERVICES)


def test_every_name_can_be_carried_by_every_provider(catalog: Catalog) -> None:
    assert [name for name in catalog if not re.fullmatch(r"[a-z0-9_]{1,64}", name)] == []


def test_names_are_unique_and_in_order() -> None:
    names = [operation.name for operation in aws_operations()]
    assert names == sorted(set(names))


def test_a_name_that_is_too_long_is_cut_and_keeps_a_mark_of_the_whole(catalog: Catalog) -> None:
    cut = [operation for operation in catalog.values() if "VirtualInterfaceGroupAssociation" in operation.operation]
    assert len(cut) == 3
    assert all(re.fullmatch(r"ec2_\w+_[0-9a-f]{6}", operation.name) for operation in cut)


def test_a_name_leads_back_to_the_operation(catalog: Catalog) -> None:
    instances = catalog["ec2_describe_instances"]
    assert (instances.service.key, instances.service.title, instances.operation) == ("ec2", "EC2", "DescribeInstances")


def test_every_description_is_short_plain_text(catalog: Catalog) -> None:
    for operation in catalog.values():
        text = operation.description
        assert 10 <= len(text) <= 600, operation.name
        assert text == " ".join(text.split()), operation.name
        assert not re.search(r"</?(p|a|code|note|li|ul|i|b)\b|&(lt|gt|amp|quot);", text), operation.name


def test_every_entry_keeps_the_rules_of_a_catalog(catalog: Catalog) -> None:
    faults = [entry_faults(each.name, each.description, each.input_schema) for each in catalog.values()]
    assert [fault for some in faults for fault in some] == []


def test_deprecated_operations_are_left_out(catalog: Catalog) -> None:
    assert "lambda_invoke" in catalog
    assert "lambda_invoke_async" not in catalog


def test_two_builds_are_equal(catalog: Catalog) -> None:
    again = aws_operations(reversed(SERVICES))
    assert again == tuple(catalog.values())
    assert [canonical_json(each.input_schema) for each in again] == [
        canonical_json(each.input_schema) for each in catalog.values()
    ]


def test_a_service_that_botocore_lacks_is_named() -> None:
    with pytest.raises(UnknownOperationError, match="no service 'teleport'"):
        aws_operations([AwsService(key="teleport", title="Teleport")])
