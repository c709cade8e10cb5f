"""The console, as a person meets it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from selector.adapters.problems import Code, problem_content
from tests.browser.conftest import CLERK, OPERATOR
from tests.browser.console_page import ConsolePage, HeldRoute

HOSTILE = '<img src=x onerror="window.ran=1"><script>window.ran=1</script>'


@pytest.fixture
def clerk(console: ConsolePage) -> ConsolePage:
    """Somebody with a key, before the first query."""
    console.use_key(OPERATOR)
    console.choose("shop", "clerk")
    return console


def test_a_query_is_answered_with_a_ranking_and_what_each_leg_says(clerk: ConsolePage) -> None:
    clerk.ask("who has not paid their invoice yet")
    first = clerk.tools().first
    assert clerk.names()[0] == "overdue_invoices"
    expect(clerk.page.locator("#said")).to_contain_text("best first")
    for leg in ("Words", "Meaning", "Fused"):
        expect(first.get_by_role("term").filter(has_text=leg)).to_be_visible()
    expect(first.locator(".why")).to_contain_text("invoice in name")
    expect(first.locator(".why")).to_contain_text("paid in text")


def test_each_request_in_a_query_is_shown_with_the_tool_nearest_to_it(clerk: ConsolePage) -> None:
    clerk.ask("find the overdue invoices and send each customer a text message")
    expect(clerk.page.get_by_text("Read as 2 requests")).to_be_visible()
    nearest = clerk.tools().filter(has_text="send_text_message").locator(".clause")
    expect(nearest).to_contain_text("send each customer a text message")


def test_a_tool_called_by_its_name_says_so(clerk: ConsolePage) -> None:
    clerk.ask("refund_payment")
    expect(clerk.tools().first).to_contain_text("called by its name")


def test_an_abstention_says_by_how_much_and_what_came_nearest(clerk: ConsolePage) -> None:
    clerk.ask("how tall is the Eiffel tower")
    expect(clerk.page.locator("#said")).to_contain_text("No tool of shop / clerk fits")
    expect(clerk.page.get_by_text("The ranking abstained")).to_be_visible()
    expect(clerk.page.locator(".notice.warn")).to_contain_text("is needed")
    expect(clerk.page.locator("details .tool").first).to_be_visible()


def test_the_page_shows_what_this_replica_serves(clerk: ConsolePage) -> None:
    served = clerk.page.locator("#served")
    expect(served.get_by_role("heading", name="laboratory")).to_be_visible()
    expect(served.locator(".surface").filter(has_text="clerk")).to_contain_text("10 tools")
    expect(clerk.page.locator("#health")).to_contain_text("Ready; 3 surfaces")


def test_a_key_sees_its_own_surfaces_only(console: ConsolePage) -> None:
    console.use_key(CLERK)
    expect(console.page.locator("#served")).to_contain_text("clerk")
    expect(console.page.locator("#served")).not_to_contain_text("auditor")
    assert console.page.get_by_label("Application").locator("option").all_text_contents() == ["shop"]


def test_a_key_that_nobody_issued_is_refused_and_not_kept(console: ConsolePage) -> None:
    console.use_key("tsk1_nobody")
    expect(console.page.get_by_role("alert")).to_have_text("This key is not valid here.")
    expect(console.page.locator("#served")).to_have_text("Needs a key.")


def test_a_forgotten_key_is_gone_from_the_page(clerk: ConsolePage) -> None:
    clerk.ask("refund a payment")
    clerk.page.get_by_role("button", name="Forget it").click()
    expect(clerk.page.locator("#served")).to_have_text("Needs a key.")
    expect(clerk.page.locator("#key")).to_be_focused()
    expect(clerk.tools()).to_have_count(0)
    assert clerk.page.get_by_label("Surface").locator("option").count() == 0


def test_a_key_is_in_the_memory_of_the_page_and_nowhere_else(clerk: ConsolePage) -> None:
    clerk.ask("refund a payment")
    kept = (
        "[sessionStorage.length, localStorage.length, document.cookie, history.length, JSON.stringify(history.state)]"
    )
    assert clerk.page.evaluate(kept)[:3] == [0, 0, ""]
    assert OPERATOR not in clerk.page.content()
    clerk.page.reload()
    expect(clerk.page.locator("#served")).to_have_text("Needs a key.")


@pytest.mark.parametrize("path", ["explain", "v1/applications", "health/ready"])
def test_what_was_asked_with_a_key_is_not_drawn_once_the_key_is_forgotten(clerk: ConsolePage, path: str) -> None:
    held = HeldRoute(clerk.page, f"**/{path}")
    if path == "explain":
        clerk.page.get_by_label("Query").fill("refund a payment")
        clerk.page.get_by_role("button", name="Rank").click()
    else:
        clerk.page.get_by_role("button", name="Refresh").click()
    held.wait_for(1)
    clerk.page.get_by_role("button", name="Forget it").click()
    held.answer_all()
    expect(clerk.page.locator("#served")).to_have_text("Needs a key.")
    expect(clerk.page.locator("#rank")).to_have_text("Rank")
    expect(clerk.page.locator("#said")).to_have_text("Nothing asked yet.")
    expect(clerk.page.locator("#answer")).to_be_empty()
    expect(clerk.page.locator("#health")).not_to_contain_text("surface")


def held_refund_ranking(clerk: ConsolePage) -> HeldRoute:
    """A ranking of the clerk's surface that is asked for and whose answer is held back."""
    held = HeldRoute(clerk.page, "**/surfaces/clerk/explain")
    clerk.page.get_by_label("Query").fill("refund a payment")
    clerk.page.get_by_role("button", name="Rank").click()
    held.wait_for(1)
    return held


def test_of_several_rankings_the_one_asked_for_last_is_drawn(clerk: ConsolePage) -> None:
    held = held_refund_ranking(clerk)
    clerk.choose("laboratory", "bench")
    clerk.ask("order more reagent")
    held.answer_all()
    expect(clerk.page.locator("#said")).to_contain_text("of laboratory / bench")
    assert clerk.names()[0] == "order_reagent"


def test_a_ranking_says_which_surface_it_is_of_whatever_is_chosen_meanwhile(clerk: ConsolePage) -> None:
    held = held_refund_ranking(clerk)
    clerk.choose("laboratory", "bench")
    held.answer_all()
    expect(clerk.page.locator("#said")).to_contain_text("of shop / clerk")
    assert clerk.names()[0] == "refund_payment"


def test_text_of_others_never_becomes_markup(clerk: ConsolePage) -> None:
    def hostile(route: Route) -> None:
        answer: dict[str, Any] = route.fetch().json()
        for tool in (*answer["ranked"], *answer["left_out"]):
            tool["name"] = HOSTILE
            for match in tool["words"]:
                match["word"] = HOSTILE
        answer["degraded"] = HOSTILE
        route.fulfill(body=json.dumps(answer), content_type="application/json")

    clerk.page.route("**/explain", hostile)
    clerk.ask(f"find the overdue invoices and {HOSTILE} text message")
    expect(clerk.tools().first.locator(".name")).to_have_text(HOSTILE)
    assert clerk.page.locator("#answer img, #answer script").count() == 0
    assert clerk.page.evaluate("window.ran") is None


def test_the_policy_lets_no_inline_script_run_and_no_other_origin_be_asked(console: ConsolePage) -> None:
    page = console.page
    page.evaluate(
        "document.head.append(Object.assign(document.createElement('script'), {textContent: 'window.ran=1'}))"
    )
    assert page.evaluate("window.ran") is None
    assert page.evaluate("fetch('http://127.0.0.1:9/').then(() => 'asked', () => 'refused')") == "refused"
    refused = console.errors()
    assert all("Content Security Policy" in each for each in refused)
    assert {"inline script" in each for each in refused} == {True, False}


@pytest.mark.usefixtures("clerk")
def test_everything_can_be_done_from_the_keyboard(page: Page) -> None:
    page.get_by_label("Query").focus()
    page.keyboard.type("export the ledger")
    page.keyboard.press("Enter")
    expect(page.locator("#answer .tool").first).to_contain_text("export_ledger")
    page.locator(".skip").focus()
    reached = []
    for _ in range(14):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("document.activeElement.id || document.activeElement.tagName"))
        outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert outline != "none", reached[-1]
        if reached[-1] == "refresh":
            break
    assert {"application", "surface", "limit", "query", "rank", "refresh"} <= set(reached)


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("loading", "Not ready: loading its indexes"),
        ("store_unavailable", "Not ready: its store cannot be reached"),
        ("leaving", "Not ready: this replica is about to end"),
        ("no_index", "Not ready: no index is served"),
        ("too_many_connections", "Not ready"),
    ],
)
def test_a_replica_that_is_not_ready_says_why(clerk: ConsolePage, code: Code, told: str) -> None:
    problem = json.dumps(problem_content(code))
    clerk.page.route("**/health/ready", lambda route: route.fulfill(status=503, body=problem))
    clerk.page.get_by_role("button", name="Refresh").click()
    expect(clerk.page.locator("#health-text")).to_have_text(told)


def test_a_service_that_is_gone_is_told_in_a_sentence(clerk: ConsolePage) -> None:
    clerk.page.route("**/explain", lambda route: route.abort())
    clerk.ask("refund a payment")
    expect(clerk.page.locator("#answer")).to_contain_text("The service cannot be reached")


def test_a_refusal_says_what_the_service_says(clerk: ConsolePage) -> None:
    clerk.page.evaluate("document.getElementById('limit').max = 1000")
    clerk.page.get_by_label("Tools").fill("900")
    clerk.ask("refund a payment")
    expect(clerk.page.locator("#answer")).to_contain_text("limit: takes at most 100")


def degraded(route: Route) -> None:
    """The words alone have answered."""
    answer: dict[str, Any] = route.fetch().json()
    route.fulfill(json={**answer, "degraded": "dense_failed"})


def refused(route: Route) -> None:
    """A release is refused, and one of its surfaces for a reason of its own."""
    served: dict[str, Any] = route.fetch().json()
    shop = served["applications"]["shop"]
    shop |= {"refused_release": "0" * 32, "refused": {"clerk": {"code": "damaged", "detail": "its index is damaged"}}}
    route.fulfill(json=served)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 360])
def test_no_rule_of_accessibility_is_broken_in_any_state(console: ConsolePage, scheme: str, width: int) -> None:
    console.page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    console.page.set_viewport_size({"width": width, "height": 900})
    console.use_key("tsk1_nobody")
    expect(console.page.get_by_role("alert")).to_have_text("This key is not valid here.")
    assert console.violations() == []
    console.use_key(OPERATOR)
    console.choose("shop", "clerk")
    for query in ("find the overdue invoices and send each customer a text message", "how tall is the Eiffel tower"):
        console.ask(query)
        assert console.violations() == []
    console.page.route("**/explain", degraded)
    console.ask("refund a payment")
    expect(console.page.get_by_text("The words answered alone")).to_be_visible()
    assert console.violations() == []
    console.page.route("**/explain", lambda route: route.abort())
    console.page.route("**/v1/applications", refused)
    console.page.route("**/health/ready", lambda route: route.fulfill(status=503, body='{"code": "leaving"}'))
    console.page.get_by_role("button", name="Refresh").click()
    expect(console.page.locator("#served")).to_contain_text("Refused: clerk")
    console.ask("refund a payment")
    expect(console.page.locator("#answer")).to_contain_text("cannot be reached")
    assert console.violations() == []
    assert console.page.evaluate("document.documentElement.scrollWidth") <= width
