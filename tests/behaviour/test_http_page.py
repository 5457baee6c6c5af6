"""The page: the built one is served with what belongs to it, and nothing else is."""

from pathlib import Path

import httpx2
import pytest
from starlette.applications import Starlette

from tests.scene import scene
from zeno.server.web import FOR_EVER, web_routes


@pytest.fixture
def page(tmp_path: Path) -> Path:
    """A page as it is built."""
    built = tmp_path / "web"
    (built / "assets").mkdir(parents=True)
    (built / "index.html").write_text("<!doctype html><title>页</title>", "utf-8")
    (built / "assets" / "app-1a2b3c.js").write_text("run()")
    (built / "assets" / "font.woff2").write_bytes(b"wOF2")
    (built / "favicon.svg").write_text("<svg/>")
    (built / "notes.py").write_text("secret")
    (tmp_path / "secret.txt").write_text("secret")
    (built / "link.txt").symlink_to(tmp_path / "secret.txt")
    return built


def _browser(page: Path) -> httpx2.AsyncClient:
    app = Starlette(routes=list(web_routes(page)))
    return httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app), base_url="http://127.0.0.1")


@scene
async def test_the_page_and_its_parts_are_served_as_what_they_are(page: Path) -> None:
    async with _browser(page) as browser:
        for path, media_type, kept in (
            ("/", "text/html; charset=utf-8", "no-cache"),
            ("/runs/0af7651916cd43dd", "text/html; charset=utf-8", "no-cache"),
            ("/assets/app-1a2b3c.js", "text/javascript; charset=utf-8", FOR_EVER),
            ("/assets/font.woff2", "font/woff2", FOR_EVER),
            ("/favicon.svg", "image/svg+xml", "no-cache"),
        ):
            answer = await browser.get(path)
            assert answer.status_code == 200, path
            assert answer.headers["content-type"] == media_type
            assert answer.headers["cache-control"] == kept
        assert "页" in (await browser.get("/")).text


@scene
async def test_nothing_beside_the_page_is_served(page: Path) -> None:
    async with _browser(page) as browser:
        for path in (
            "/notes.py",
            "/link.txt",
            "/secret.txt",
            "/%2e%2e/secret.txt",
            "/..%2fsecret.txt",
            "/assets/%2e%2e/%2e%2e/secret.txt",
            "/assets/app-old.js",
            "/api/v1/none",
            "/api",
            "/a%00b.js",
        ):
            answer = await browser.get(path)
            assert answer.status_code == 404, path
            assert "secret" not in answer.text
        assert (await browser.post("/")).status_code == 405
        assert (await browser.put("/api/v1/none")).status_code == 404
