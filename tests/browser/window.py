"""The page's door: a window of a browser that notes every request and every fault that its console tells."""

import json
import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Locator, Page, Request

from tests.http import Server
from tests.services import program

ROOT = Path(__file__).parents[2]
AXE = ROOT / "web" / "node_modules" / "axe-core" / "axe.min.js"
PICTURES = os.environ.get("ZENO_PICTURES")
"""A directory in which to leave pictures of what was seen."""

BOUND = 30_000
"""Milliseconds that a test waits for something to be seen."""

HARMLESS = re.compile(r"Failed to load resource|net::ERR_")
"""What a console says of requests that were refused or cut, as some tests want them."""


def chromium() -> str:
    """Where a Chromium is."""
    return program("chromium", "chromium-browser", "google-chrome", "chrome")


@dataclass
class Window:
    """One window, alone with its cookies."""

    context: BrowserContext
    page: Page
    server: Server
    requests: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    @classmethod
    def opened(
        cls, browser: Browser, server: Server, *, language: str = "en-US", path: str = "/", dark: bool = False, **options: Any
    ) -> Self:
        """A window in which the user of the installation has opened the printed address."""
        context = browser.new_context(
            locale=language, color_scheme="dark" if dark else "light", accept_downloads=True, **options
        )
        context.set_default_timeout(BOUND)
        window = cls(context, context.new_page(), server)
        context.on("request", window._asked)
        window.page.on("console", window._said)
        window.page.on("pageerror", lambda error: window.faults.append(f"error: {error}"))
        window.page.goto(f"{server.origin}{path}#token={server.token}")
        window.page.wait_for_selector("main#content")
        return window

    def another(self, path: str) -> Page:
        """One more page of the same user."""
        page = self.context.new_page()
        page.on("console", self._said)
        page.on("pageerror", lambda error: self.faults.append(f"error: {error}"))
        page.goto(f"{self.server.origin}{path}")
        page.wait_for_selector("main#content")
        return page

    def __getitem__(self, name: str) -> Locator:
        """What carries this mark."""
        return self.page.locator(f'[data-test="{name}"]')

    @property
    def foreign(self) -> list[str]:
        """Requests that went elsewhere."""
        own = urlsplit(self.server.origin).netloc
        return [url for url in self.requests if urlsplit(url).scheme not in ("data", "blob") and urlsplit(url).netloc != own]

    def accessibility(self) -> list[str]:
        """What axe finds that keeps people out, seriously or worse."""
        self.page.evaluate(AXE.read_text("utf-8"))
        found = self.page.evaluate("async () => (await axe.run(document, {resultTypes: ['violations']})).violations")
        return [_violation(each) for each in found if each["impact"] in ("serious", "critical")]

    def picture(self, name: str) -> None:
        """Leave a picture of what is seen now, where pictures are wanted."""
        if PICTURES:
            self.page.screenshot(path=Path(PICTURES) / f"{name}.png", animations="disabled")

    def close(self) -> None:
        """Close it; nothing may have gone elsewhere or broken."""
        self.context.close()
        assert self.foreign == []
        assert self.faults == []

    def _asked(self, request: Request) -> None:
        self.requests.append(request.url)

    def _said(self, message: ConsoleMessage) -> None:
        if message.type == "error" and not HARMLESS.search(message.text):
            self.faults.append(message.text)


def _violation(found: dict[str, Any]) -> str:
    where = [node["target"] for node in found["nodes"]][:5]
    return f"{found['id']} ({found['impact']}): {json.dumps(where)}"
