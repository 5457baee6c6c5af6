"""Files over HTTP: brought in whole or not at all, kept inside, given back as something to save."""

import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import quote

import httpx2
import pytest

from tests.door import Door, call, calls
from tests.http import HOLD, Inside, inside
from tests.scene import scene

pytestmark = pytest.mark.instances


async def _session(house: Inside, client: httpx2.AsyncClient) -> tuple[str, Path]:
    """The path of a session's files over HTTP, and where they lie."""
    path = (await client.post("/api/v1/sessions")).headers["location"]
    return f"{path}/files", house.app.workspaces / path.rpartition("/")[2]


def _names(directory: Path) -> set[str]:
    """All that lies there, hidden or not."""
    return (
        {path.relative_to(directory).as_posix() for path in directory.rglob("*") if path.is_file()}
        if directory.is_dir()
        else set()
    )


GOOD_NAMES = [
    "a.txt",
    "data/2026/q2.csv",
    "销售 数据（第二季度）.xlsx",
    "naïve café.txt",
    'quo"te%.csv',
    "no extension",
    "x" * 200,
]


@scene
async def test_what_is_uploaded_comes_back_byte_for_byte_under_its_name(door: Door) -> None:
    async with inside(door) as house, house.own as client:
        files, directory = await _session(house, client)
        for number, name in enumerate(GOOD_NAMES):
            content = os.urandom(1000 * number)
            made = await client.put(f"{files}/{quote(name)}", content=content)
            assert made.status_code == 201, (name, made.text)
            assert (made.json()["path"], made.json()["size"]) == (name, len(content))
            back = await client.get(f"{files}/{quote(name)}")
            assert back.content == content
            disposition = back.headers["content-disposition"]
            assert disposition.startswith('attachment; filename="')
            assert disposition.isascii()
            assert disposition.endswith(f"filename*=UTF-8''{quote(name.rpartition('/')[2], safe='')}")
            assert back.headers["x-content-type-options"] == "nosniff"
        listed = (await client.get(files)).json()["files"]
        assert [file["path"] for file in listed] == sorted(GOOD_NAMES)
        assert _names(directory) == set(GOOD_NAMES), "no draft is left"


@scene
async def test_a_name_that_is_no_text_does_not_hide_the_others(door: Door) -> None:
    async with inside(door) as house, house.own as client:
        files, directory = await _session(house, client)
        directory.mkdir(parents=True)
        for name in (b"caf\xe9.txt", b"whole.txt"):
            (directory / os.fsdecode(name)).write_bytes(b"x")
        listing = await client.get(files)
        assert [file["path"] for file in listing.json()["files"]] == ["whole.txt"]


@scene
async def test_nothing_is_ever_served_as_a_page(door: Door) -> None:
    async with inside(door) as house, house.own as client:
        files, _ = await _session(house, client)
        page = b"<script>alert(1)</script>"
        for name in ("a.html", "a.htm", "a.xhtml", "a.svg", "a.xml", "a.js", "a.md", "a.txt", "a", "a.png.html"):
            await client.put(f"{files}/{name}", content=page, headers={"Content-Type": "text/html"})
            back = await client.get(f"{files}/{name}", headers={"Accept": "text/html"})
            assert back.headers["content-disposition"].startswith("attachment"), name
            assert "html" not in back.headers["content-type"], name
            assert "sandbox" in back.headers["content-security-policy"]
        for name, kind in (("a.png", "png"), ("a.jpg", "jpeg"), ("a.JPEG", "jpeg"), ("a.gif", "gif"), ("a.webp", "webp")):
            await client.put(f"{files}/{name}", content=page)
            picture = await client.get(f"{files}/{name}")
            assert picture.headers["content-type"] == f"image/{kind}"
            assert picture.headers["content-disposition"].startswith("inline")
            assert picture.headers["x-content-type-options"] == "nosniff"
            assert "sandbox" in picture.headers["content-security-policy"]


BAD_NAMES = [
    "../zeno.db",
    "a/../../zeno.db",
    "%2e%2e/zeno.db",
    "..%2fzeno.db",
    "..%5czeno.db",
    "%2fetc/passwd",
    "~/x",
    "C:%5cx",
    ".hidden",
    "a/.hidden/b",
    "a%00b",
    "a%0ab",
    "x" * 201,
    "y/" * 260 + "z",
    "dir/",
]


@scene
async def test_names_that_lead_astray_are_refused_for_every_method(door: Door) -> None:
    async with inside(door) as house, house.own as client:
        files, directory = await _session(house, client)
        await client.put(f"{files}/good.txt", content=b"good")
        before = {path: path.read_bytes() for path in door.home.glob("*") if path.is_file() and "db" not in path.name}
        for name in BAD_NAMES:
            for method in ("PUT", "GET", "DELETE"):
                # As it is: a client that tidies paths would hide what is tried.
                url = httpx2.URL(f"http://127.0.0.1:8321{files}/").copy_with(raw_path=f"{files}/{name}".encode())
                answer = await client.request(method, url, content=b"evil" if method == "PUT" else None)
                assert answer.status_code in (404, 422), (method, name, answer.status_code)
                assert answer.headers["content-type"] == "application/problem+json"
        assert _names(directory) == {"good.txt"}
        assert before == {path: path.read_bytes() for path in before}


@scene
async def test_links_lead_nowhere(door: Door, tmp_path: Path) -> None:
    async with inside(door) as house, house.own as client:
        files, directory = await _session(house, client)
        await client.put(f"{files}/own.txt", content=b"own")
        outside = tmp_path / "outside"
        outside.mkdir()
        (outside / "secret.txt").write_text("secret")
        (directory / "out").symlink_to(outside)
        (directory / "secret.txt").symlink_to(outside / "secret.txt")
        (directory / "loop").symlink_to(directory / "loop")
        for name in ("out/secret.txt", "secret.txt", "loop", "out/new.txt"):
            for method in ("PUT", "GET", "DELETE"):
                answer = await client.request(
                    method, f"{files}/{name}?overwrite=1", content=b"evil" if method == "PUT" else None
                )
                assert answer.status_code in (404, 422), (method, name)
                assert 'secret"' not in answer.text
        assert [file["path"] for file in (await client.get(files)).json()["files"]] == ["own.txt"]
        assert _names(outside) == {"secret.txt"}
        assert (outside / "secret.txt").read_text() == "secret"


@scene
async def test_what_is_there_stays_unless_it_is_to_be_replaced(door: Door) -> None:
    async with inside(door) as house, house.own as client:
        files, directory = await _session(house, client)
        await client.put(f"{files}/a.txt", content=b"first")
        taken = await client.put(f"{files}/a.txt", content=b"second")
        assert (taken.status_code, taken.json()["code"]) == (409, "file_exists")
        assert (await client.get(f"{files}/a.txt")).content == b"first"
        replaced = await client.put(f"{files}/a.txt?overwrite=1", content=b"third")
        assert replaced.status_code == 200
        assert (await client.get(f"{files}/a.txt")).content == b"third"
        assert (await client.put(f"{files}/new.txt?overwrite=1", content=b"")).status_code == 201
        for name in ("a.txt/below", "a.txt/below/deep"):
            assert (await client.put(f"{files}/{name}", content=b"x")).status_code == 409, name
        await client.put(f"{files}/dir/b.txt", content=b"b")
        for query in ("", "?overwrite=1"):
            assert (await client.put(f"{files}/dir{query}", content=b"x")).status_code == 409
        assert _names(directory) == {"a.txt", "new.txt", "dir/b.txt"}
        assert (await client.delete(f"{files}/a.txt")).status_code == 204
        for method in ("GET", "DELETE"):
            assert (await client.request(method, f"{files}/a.txt")).status_code == 404
        assert (await client.get(f"{files}/dir")).status_code == 404


@scene
async def test_a_file_that_is_too_large_leaves_nothing_behind(door: Door) -> None:
    async with inside(door, server={"max_upload": 100_000, "max_body": 2_000}) as house, house.own as client:
        files, directory = await _session(house, client)

        async def dripping(pieces: int) -> AsyncIterator[bytes]:
            for _ in range(pieces):
                yield b"x" * 1000

        fits = await client.put(f"{files}/fits.bin", content=dripping(100))
        assert (fits.status_code, fits.json()["size"]) == (201, 100_000)
        for content in (dripping(101), b"x" * 100_001):
            refused = await client.put(f"{files}/large.bin", content=content)
            assert refused.status_code == 413
            assert refused.headers["content-type"] == "application/problem+json"
        assert _names(directory) == {"fits.bin"}


@scene
async def test_a_caller_that_goes_away_leaves_nothing_behind(door: Door) -> None:
    async with inside(door) as house, house.own as client:
        files, directory = await _session(house, client)
        messages = iter([{"type": "http.request", "body": b"half", "more_body": True}, {"type": "http.disconnect"}])
        sent = []

        async def receive() -> dict[str, object]:
            return next(messages)

        async def send(message: dict[str, object]) -> None:
            sent.append(message)

        request = client.build_request("PUT", f"{files}/half.bin")
        scope = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "method": "PUT",
            "path": f"{files}/half.bin",
            "raw_path": f"{files}/half.bin".encode(),
            "query_string": b"",
            "headers": [(name.lower(), value) for name, value in request.headers.raw if name.lower() != b"content-length"],
            "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", 8321),
            "scheme": "http",
            "http_version": "1.1",
            "root_path": "",
        }
        await house.asgi[0](scope, receive, send)
        assert sent[0]["status"] == 422
        assert _names(directory) == set()


@scene
async def test_a_run_that_is_on_keeps_the_files_it_has_seen(door: Door) -> None:
    door.with_tools(HOLD)
    read = {"text": "ok", "expect": ["a.txt"]}
    async with inside(door, model=door.script(calls(call("hold", word="x")), read)) as house, house.own as client:
        files, _ = await _session(house, client)
        await client.put(f"{files}/a.txt", content=b"seen")
        start = {"text": "read a.txt", "files": ["a.txt"]}
        run = (await client.post(f"{files.removesuffix('/files')}/runs", json=start)).json()["run_id"]
        await sys.modules["zeno_tools_own_tools"].entered.wait()
        for answer in (await client.put(f"{files}/a.txt?overwrite=1", content=b"x"), await client.delete(f"{files}/a.txt")):
            assert (answer.status_code, answer.json()["code"]) == (409, "session_busy")
        assert (await client.put(f"{files}/b.txt", content=b"new ones are welcome")).status_code == 201
        assert (await client.get(f"{files}/a.txt")).content == b"seen"
        sys.modules["zeno_tools_own_tools"].release.set()
        await house.ended(run)
        assert (await client.put(f"{files}/a.txt?overwrite=1", content=b"x")).status_code == 200


@scene
async def test_what_a_run_produces_can_be_downloaded(door: Door) -> None:
    script = door.script(calls(call("generate_qr_code", text="https://example.com")), {"text": "Here it is."})
    async with inside(door, model=script) as house, house.own as client:
        done = (await client.post("/api/v1/runs?wait=1", json={"text": "a code"})).json()
        (file,) = done["files"]
        back = await client.get(f"/api/v1/sessions/{done['session_id']}/files/{file['path']}")
        assert len(back.content) == file["size"]
        assert back.content.startswith(b"\x89PNG")


@scene
async def test_what_was_done_to_files_is_in_the_audit_refused_or_not(door: Door) -> None:
    async with inside(door) as house, house.own as client:
        files, directory = await _session(house, client)
        for method, name in (("PUT", "a.txt"), ("PUT", "a.txt"), ("GET", "a.txt"), ("DELETE", "a.txt"), ("GET", "a.txt")):
            await client.request(method, f"{files}/{name}")
        await client.put(f"{files}/.hidden")
        await client.get("/api/v1/sessions/elsewhere/files/a.txt")
        lines = (await client.get("/api/v1/audit")).json()["entries"]
        assert [(each["action"], each["target"], each["decision"], each["result"]) for each in reversed(lines)] == [
            ("file_uploaded", f"{directory.name}/a.txt", "", "done"),
            ("file_uploaded", f"{directory.name}/a.txt", "refused", "file_exists"),
            ("file_downloaded", f"{directory.name}/a.txt", "", "done"),
            ("file_removed", f"{directory.name}/a.txt", "", "done"),
            ("file_downloaded", f"{directory.name}/a.txt", "refused", "file_not_found"),
            ("file_uploaded", f"{directory.name}/.hidden", "refused", "path_invalid"),
            ("file_downloaded", "elsewhere/a.txt", "refused", "session_not_found"),
        ]


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
def test_files_of_a_conversation_that_is_not_there_are_not_found(door: Door, method: str) -> None:
    @scene
    async def tried() -> None:
        async with inside(door) as house, house.own as client:
            for session in ("none", "..", "%2e%2e"):
                answer = await client.request(method, f"/api/v1/sessions/{session}/files/a.txt")
                assert answer.status_code in (404, 405)
        assert not (house.app.workspaces / "none").exists()

    tried()
