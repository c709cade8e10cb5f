"""The console as its user handles it, and what it must never do."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from playwright.sync_api import APIResponse, ConsoleMessage, Error, Locator, Page, Request, Route, expect

from tests.browser.chromium import AXE


class HeldRoute:
    """Requests that the service has answered, and whose answers the page gets when it is said."""

    def __init__(self, page: Page, url: str) -> None:
        self._page = page
        self._held: list[tuple[Route, APIResponse]] = []
        page.route(url, lambda route: self._held.append((route, route.fetch())))

    def wait_for(self, count: int) -> None:
        while len(self._held) < count:
            self._page.wait_for_timeout(10)

    def answer_all(self) -> None:
        for route, response in self._held:
            with suppress(Error):  # nobody waits for it any more, as it should be
                route.fulfill(response=response)
        self._held.clear()


class ConsolePage:
    """One open page. `check` fails where it asked another origin, put a key into a URL, or logged an error."""

    def __init__(self, page: Page, url: str) -> None:
        self.page = page
        self._url = url
        self._errors: list[str] = []
        self._requested: list[str] = []
        self.key = ""
        page.on("pageerror", lambda error: self._errors.append(str(error)))
        page.on("console", self._heard)
        page.on("request", self._asked)

    def open(self) -> None:
        self.page.goto(f"{self._url}/console")

    def use_key(self, key: str) -> None:
        self.key = key
        self.page.locator("#key").fill(key)
        self.page.get_by_role("button", name="Use key").click()

    def choose(self, application: str, surface: str) -> None:
        self.page.get_by_label("Application").select_option(application)
        self.page.get_by_label("Surface").select_option(surface)

    def ask(self, query: str) -> None:
        self.page.get_by_label("Query").fill(query)
        self.page.get_by_role("button", name="Rank").click()
        expect(self.page.locator("#answer")).to_have_attribute("aria-busy", "false")
        expect(self.page.locator("#said")).not_to_have_text("Ranking…")

    def tools(self) -> Locator:
        return self.page.locator("#answer > .tools > .tool")

    def names(self) -> list[str]:
        return self.tools().locator(".name").all_text_contents()

    def violations(self) -> list[str]:
        """What axe-core holds against the page as it is now: WCAG 2.2 A and AA, and best practice."""
        self.page.evaluate(AXE.read_text())
        # The rules of 2.2 alone are off by default.
        found: Mapping[str, Any] = self.page.evaluate("axe.run(document, {rules: {'target-size': {enabled: true}}})")
        return [
            f"{fault['id']}: {node['html']} {node['failureSummary']}"
            for fault in found["violations"]
            for node in fault["nodes"]
        ]

    def errors(self) -> list[str]:
        """What the browser has complained of since the last look; `check` fails on what nobody looked at."""
        found, self._errors = self._errors, []
        return found

    def check(self) -> None:
        assert self._errors == []
        assert [url for url in self._requested if not url.startswith(f"{self._url}/")] == []
        assert not self.key or not any(self.key in url for url in self._requested)

    def _heard(self, message: ConsoleMessage) -> None:
        # The browser itself reports every answer that is a refusal; the page shows those.
        if message.type in {"error", "warning"} and "Failed to load resource" not in message.text:
            self._errors.append(message.text)

    def _asked(self, request: Request) -> None:
        self._requested.append(request.url)
