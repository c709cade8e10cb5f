"""One browser and one real `serve` process for all of it; a page of its own for each test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from indexer.adapters.directory_store import DirectoryStore
from models.adapters.onnx import default_embedder
from selector.access import KEY_BYTES, hashed, key_of
from tests.browser.chromium import environment, executable
from tests.browser.console_page import ConsolePage
from tests.selector.builders import put
from tests.selector.server_process import ServerProcess, running_server

OPERATOR, CLERK = key_of(b"o" * KEY_BYTES), key_of(b"c" * KEY_BYTES)
_KEYS = f"""
[[key]]
id = "operator"
hashes = ["{hashed(OPERATOR)}"]
surfaces = {{ "*" = ["*"] }}

[[key]]
id = "clerk"
hashes = ["{hashed(CLERK)}"]
surfaces = {{ shop = ["clerk"] }}
"""
_SHOP = {
    "list_invoices": "List the invoices of a customer, newest first.",
    "overdue_invoices": "Find invoices that are past their due date and not paid.",
    "send_reminder": "Remind a customer by mail of an unpaid invoice.",
    "send_text_message": "Send a text message to the phone of a customer.",
    "refund_payment": "Pay back a payment in full or in part.",
    "create_customer": "Create a customer with name, address and mail.",
    "merge_customers": "Merge two records of the same customer into one.",
    "export_ledger": "Export the ledger of a month as a spreadsheet.",
    "convert_currency": "Convert an amount of money between two currencies.",
    "close_month": "Close the books of a month; nothing can be booked into it afterwards.",
}
_LAB = {
    "run_assay": "Run an assay on a plate of samples and store the readings.",
    "order_reagent": "Order a reagent from the supplier.",
    "calibrate_scale": "Calibrate a laboratory scale with reference weights.",
}


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    folder = tmp_path_factory.mktemp("console")
    embedder = default_embedder(threads=1)
    (folder / "store").mkdir()
    store = DirectoryStore(folder / "store")
    put(store, {"clerk": _SHOP, "auditor": dict(list(_SHOP.items())[:4])}, application="shop", embedder=embedder)
    put(store, {"bench": _LAB}, application="laboratory", embedder=embedder)
    (folder / "keys.toml").write_text(_KEYS)
    with running_server(folder / "store", "--keys", str(folder / "keys.toml"), log=folder / "log") as server:
        yield server


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    if not executable().is_file():
        pytest.fail("there is no browser: run make test-browser, which brings one", pytrace=False)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable(), env=environment())
        yield browser
        browser.close()


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    with browser.new_context(viewport={"width": 1280, "height": 900}) as context:
        context.set_default_timeout(10_000)
        yield context


@pytest.fixture
def console(context: BrowserContext, server: ServerProcess) -> Iterator[ConsolePage]:
    """The page, open; whatever it did wrong meanwhile fails the test when it ends."""
    console = ConsolePage(context.new_page(), server.url)
    console.open()
    yield console
    # What a test holds back or rewrites may be on its way from the service still: it ends with the page, as no error.
    console.page.unroute_all(behavior="ignoreErrors")
    console.check()


@pytest.fixture
def page(console: ConsolePage) -> Page:
    return console.page


@pytest.fixture(scope="session")
def shots(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("shots")
