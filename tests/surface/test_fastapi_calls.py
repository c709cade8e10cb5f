"""Calls of a FastAPI application's operations: what the application is sent, and what its answer means."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from typing import Annotated, Any

import pytest
from fastapi import (
    APIRouter,
    Body,
    Depends,
    FastAPI,
    Header,
    HTTPException,
)
from starlette.middleware import Middleware
from starlette.middleware.httpsredirect import HTTPSRedirectMiddleware
from starlette.middleware.trustedhost import TrustedHostMiddleware

from surface import (
    CallContext,
    Hooks,
    Json,
    Service,
    mount_agent,
)
from surface.adapters.fastapi_service import service_from_fastapi
from surface.call import CallAnswer
from tests.surface.neutral_dialect import NEUTRAL, call, error_in, text_in, the_answer, turn
from tests.surface.web_applications import MARKER, answering, shop


def as_json(answer: CallAnswer) -> Any:
    (part,) = answer.parts
    assert isinstance(part, Json)
    assert not answer.failed, part.value
    return part.value


async def answer_to(
    service: Service, name: str, arguments: Any = None, *, context: Any = None, hooks: Hooks | None = None
) -> CallAnswer:
    run = mount_agent([service], dialect=NEUTRAL, hooks=hooks).mount(run_id="run-1", context=context)
    return the_answer(await run.dispatch([turn(call(f"{service.name}_{name}", arguments))]))


SHOP = service_from_fastapi(shop, name="shop")


async def test_a_dependency_of_an_included_router_runs() -> None:
    router, app = APIRouter(), FastAPI()

    def guard(authorization: Annotated[str | None, Header()] = None) -> None:
        if authorization != "Bearer good":
            raise HTTPException(401, "Bring a token.")

    @router.get("/secret")
    def secret() -> str:
        return "42"

    app.include_router(router, prefix="/v1", dependencies=[Depends(guard)])
    service = service_from_fastapi(app, name="api", headers=lambda call: {"Authorization": call.context})
    assert as_json_or_text(await answer_to(service, "secret", context="Bearer good")) == "42"
    refused = await answer_to(service, "secret", context="Bearer bad")
    assert error_in(refused) == {"code": "HTTP_401", "message": "Bring a token."}


def as_json_or_text(answer: CallAnswer) -> Any:
    (part,) = answer.parts
    return part.value if isinstance(part, Json) else text_in(answer)


async def test_a_nested_and_recursive_body_arrives_whole() -> None:
    order = {
        "title": "größer",
        "lines": [{"sku": "ab", "count": 2, "parts": [{"sku": "cd", "count": 1, "parts": []}]}],
        "payment": {"kind": "card", "number": "1"},
    }
    assert as_json(await answer_to(SHOP, "place_order", {"body": order, "urgent": True})) == order


@pytest.mark.rule("MNT-3")
@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        ({"body": {"title": "x", "lines": [{"sku": MARKER, "parts": [{"sku": "a"}]}]}}, "body.lines.0.parts.0.sku"),
        ({"body": {"title": "x", "lines": [], "payment": {"kind": MARKER}}}, "body.payment"),
        ({"body": {"title": "x"}}, "body"),
        ({}, "required"),
        ({"body": {"title": "x", "lines": []}, MARKER: 1}, "not known"),
    ],
)
async def test_a_body_that_breaks_its_schema_is_refused_before_the_application_sees_it(
    arguments: dict[str, Any], shown: str
) -> None:
    error = error_in(await answer_to(SHOP, "place_order", arguments))
    assert error["code"] == "VALIDATION_ERROR"
    assert shown in error["message"]
    assert MARKER not in str(error)


@pytest.mark.rule("MNT-3")
async def test_what_only_the_application_s_own_check_refuses_names_the_field_and_never_the_value() -> None:
    error = error_in(await answer_to(SHOP, "place_order", {"body": {"title": "x", "lines": [{"sku": f"XX{MARKER}"}]}}))
    assert error["code"] == "VALIDATION_ERROR"
    assert error["message"] == "body.lines.0.sku: is not valid for the application"
    assert MARKER not in str(error)


async def test_query_lists_aliases_and_booleans_arrive_as_they_were_given() -> None:
    asked = {"tag": ["a b", "c&d=e", "ü"], "max-items": 3, "exact": True}
    expected = {"tag": ["a b", "c&d=e", "ü"], "limit": 3, "exact": True}
    assert as_json(await answer_to(SHOP, "list_items", asked)) == expected
    assert as_json(await answer_to(SHOP, "list_items")) == {"tag": [], "limit": 10, "exact": False}


@pytest.mark.parametrize("value", ["a", "a b", "ü", "%2e%2e", "a%2Fb", "a?b=c", "a#b", "..a", "\\", "{item_id}", "a;b"])
async def test_a_path_value_arrives_as_it_was_given(value: str) -> None:
    assert as_json(await answer_to(SHOP, "get_item", {"item_id": value})) == {"item": value}


@pytest.mark.parametrize("value", ["", ".", "..", "a/b", "/", "../orders", "export"])
async def test_a_path_value_that_could_reach_another_route_is_refused(value: str) -> None:
    error = error_in(await answer_to(SHOP, "get_item", {"item_id": value}))
    assert error["code"] == "VALIDATION_ERROR"
    assert error["message"].startswith("item_id: ")


async def test_a_path_value_reaches_no_operation_outside_of_only() -> None:
    service = service_from_fastapi(shop, name="shop", only=["get_item"])
    assert [each.name for each in service.tools] == ["get_item"]
    assert error_in(await answer_to(service, "get_item", {"item_id": "export"}))["code"] == "VALIDATION_ERROR"


ANSWERING = service_from_fastapi(answering, name="api")


@pytest.mark.parametrize(
    ("operation", "shown"),
    [
        ("nothing", ""),
        ("null", None),
        ("text", "größer"),
        ("problem", {"a": [1]}),
        ("lines", '{"a":1}\n{"a":2}\n'),
        ("afterwards", "accepted"),
    ],
)
async def test_an_answer_is_its_json_or_its_text(operation: str, shown: Any) -> None:
    answer = await answer_to(ANSWERING, operation)
    assert not answer.failed
    assert as_json_or_text(answer) == shown


@pytest.mark.parametrize(
    ("operation", "code", "message"),
    [
        ("missing", "HTTP_404", "There is no such order; list them first."),
        ("conflict", "HTTP_409", "The application refused the call (409)."),
        ("words", "HTTP_422", "The order is closed."),
        ("needs_header", "HTTP_422", "The application refused the call (422)."),
        ("refused_picture", "HTTP_403", "The application refused the call (403)."),
        ("moved", "HTTP_307", "The application answered with a redirect, which is not followed."),
        ("picture", "UNSUPPORTED_CONTENT", "The application answered with image/png: neither JSON nor text."),
    ],
)
async def test_a_refusal_is_told_in_the_application_s_own_words_where_it_has_some(
    operation: str, code: str, message: str
) -> None:
    error = error_in(await answer_to(ANSWERING, operation))
    assert error == {"code": code, "message": message}


@pytest.mark.rule("MNT-3", "EVD-2")
@pytest.mark.parametrize("operation", ["broken", "unavailable", "half"])
async def test_a_failure_of_the_application_is_internal_and_nothing_of_it_leaks(
    operation: str, caplog: pytest.LogCaptureFixture
) -> None:
    seen: list[Exception] = []
    hooks = Hooks(on_error=lambda error, _: seen.append(error))
    answer = await answer_to(ANSWERING, operation, hooks=hooks)
    assert error_in(answer)["code"] == "INTERNAL"
    assert MARKER not in repr(answer)
    assert MARKER not in caplog.text
    assert len(seen) == 1
    assert isinstance(seen[0], RuntimeError if operation == "unavailable" else LookupError)


async def test_work_that_fails_after_the_answer_is_logged_by_its_class_alone(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR, logger="toolsurface"):
        assert text_in(await answer_to(ANSWERING, "afterwards")) == "accepted"
    assert "LookupError" in caplog.text
    assert MARKER not in caplog.text


@pytest.mark.rule("MNT-9")
async def test_the_idempotency_key_travels_and_is_another_for_another_call() -> None:
    run = mount_agent([ANSWERING], dialect=NEUTRAL).mount(run_id="run-1")
    keys = []
    for call_id in ("c1", "c1", "c2"):
        answer = the_answer(await run.dispatch([turn(call("api_headers", id=call_id))]))
        keys.append(as_json(answer)["idempotency-key"])
    context = CallContext(run_id="run-1", surface="all", call_id="c1", tool="api_headers")
    assert keys[0] == keys[1] == context.idempotency_key != keys[2]


async def test_headers_are_given_for_each_call_sync_or_async() -> None:
    async def later(call: CallContext) -> dict[str, str]:
        return {"X-Tenant": call.context["tenant"]}

    service = service_from_fastapi(answering, name="api", headers=later)
    assert text_in(await answer_to(service, "needs_header", context={"tenant": "acme"})) == "acme"
    assert text_in(await answer_to(service, "needs_header", context={"tenant": "other"})) == "other"


async def test_a_cookie_that_one_call_was_given_is_not_sent_with_the_next() -> None:
    assert text_in(await answer_to(ANSWERING, "login")) == "welcome"
    assert as_json(await answer_to(ANSWERING, "whoami")) == {"session": None}


async def test_an_application_that_checks_host_and_scheme_can_be_called() -> None:
    app = FastAPI(
        middleware=[
            Middleware(HTTPSRedirectMiddleware),
            Middleware(TrustedHostMiddleware, allowed_hosts=["shop.example"]),
        ]
    )

    @app.get("/text")
    def text() -> str:
        return "größer"

    refused = service_from_fastapi(app, name="api")
    assert error_in(await answer_to(refused, "text"))["code"] == "HTTP_400"
    service = service_from_fastapi(app, name="api", headers=lambda _: {"Host": "shop.example"})
    assert text_in(await answer_to(service, "text")) == "größer"


async def test_a_dependency_is_opened_and_closed_for_each_call_and_can_be_overridden() -> None:
    app = FastAPI()
    asked: list[str] = []

    async def connection() -> AsyncIterator[str]:
        asked.append("open")
        yield "real"
        asked.append("close")

    def which(connected: str = Depends(connection)) -> str:
        return connected

    app.get("/which")(which)
    service = service_from_fastapi(app, name="api")
    assert text_in(await answer_to(service, "which")) == "real"
    assert asked == ["open", "close"]
    app.dependency_overrides[connection] = lambda: "fake"
    assert text_in(await answer_to(service, "which")) == "fake"


async def test_an_optional_body_may_be_left_out_and_a_falsy_one_is_sent() -> None:
    app = FastAPI()

    @app.post("/note")
    def note(text: Annotated[str | None, Body()] = None) -> dict[str, str | None]:
        return {"text": text}

    service = service_from_fastapi(app, name="api")
    assert as_json(await answer_to(service, "note")) == {"text": None}
    assert as_json(await answer_to(service, "note", {"body": ""})) == {"text": ""}


async def test_a_lone_surrogate_in_query_or_body_is_the_model_s_mistake() -> None:
    in_query = await answer_to(SHOP, "list_items", {"tag": ["\ud800"]})
    in_body = await answer_to(SHOP, "place_order", {"body": {"title": "\ud800", "lines": []}})
    assert error_in(in_query)["code"] == error_in(in_body)["code"] == "VALIDATION_ERROR"
