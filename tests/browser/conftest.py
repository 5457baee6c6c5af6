"""A browser for the tests of the page, and a server behind it."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect, sync_playwright

from tests.browser.window import BOUND, Window, chromium
from tests.door import Door
from tests.http import Server, serving
from tests.stubs.gated_model import GatedModel, gated_model
from zeno.server.web import BUILT


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All of these take seconds."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.slow)


expect.set_options(timeout=BOUND)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One browser for the tests of a file; each of their windows has a context of its own.

    Not for longer: as long as it is there, its driver's event loop runs, and no other test of the process could have one.
    """
    executable = chromium()
    assert (BUILT / "index.html").is_file(), "the page is not built: make page"
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox", "--disable-dev-shm-usage"])
        yield opened
        opened.close()


@pytest.fixture
def model() -> Iterator[GatedModel]:
    """The model that the server asks."""
    with gated_model() as made:
        yield made


@pytest.fixture
def server(door: Door, model: GatedModel) -> Iterator[Server]:
    """A server whose runs are answered by `model`."""
    door.env |= {"ZENO_OPENAI__BASE_URL": model.url, "ZENO_MODEL": "openai:gated", "ZENO_SERVER__RATE_LIMIT": "100000/minute"}
    with serving(door) as started:
        yield started


@pytest.fixture
def window(browser: Browser, server: Server) -> Iterator[Window]:
    """A window in English in which the page is open."""
    made = Window.opened(browser, server)
    yield made
    made.close()
