import asyncio
import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
import segno
from PIL import Image

from zeno.core.errors import ToolFailed
from zeno.core.ports import ToolContext, ToolOutput
from zeno.tools.builtin.qr import generate_qr_code

SCALE, QUIET_ZONE = 8, 4


def draw(workspace: Path, text: str, **options: Any) -> ToolOutput:
    context = ToolContext(run_id="0123456789abcdef", call_id="call", workspace=workspace)
    return asyncio.run(generate_qr_code.call({"text": text, **options}, context))


def failure(workspace: Path, text: str, **options: Any) -> ToolFailed:
    with pytest.raises(ToolFailed) as caught:
        draw(workspace, text, **options)
    return caught.value


def modules(picture: Path) -> list[list[bool]]:
    """The dark modules of a PNG, quiet zone included, one pixel read in the middle of each."""
    with Image.open(picture) as image:
        grey = image.convert("L")
    count = grey.width // SCALE
    middle = SCALE // 2
    return [[grey.getpixel((x * SCALE + middle, y * SCALE + middle)) == 0 for x in range(count)] for y in range(count)]


@pytest.mark.parametrize("text", ["https://example.com/path?q=1", "你好，世界", "日本", "12345", "naïve"])
def test_the_picture_shows_the_modules_of_the_text_in_utf8(tmp_path: Path, text: str) -> None:
    (part,) = draw(tmp_path, text).files
    expected = segno.make_qr(text.encode(), error="m", mode=None if text.isdigit() else "byte")
    shown = modules(tmp_path / part.path)
    framed = [[bool(module) for module in row] for row in expected.matrix_iter(border=QUIET_ZONE)]
    assert shown == framed


def test_the_picture_is_reported_by_path_and_size(tmp_path: Path) -> None:
    output = draw(tmp_path, "hello", file_name="links/shop")
    (part,) = output.files
    picture = tmp_path / "links" / "shop-01234567.png"
    assert (part.path, part.size, part.media_type) == ("links/shop-01234567.png", picture.stat().st_size, "image/png")
    assert picture.read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    side = (21 + 2 * QUIET_ZONE) * SCALE
    assert output.text.startswith(f"Saved the QR code as {part.path} ({part.size} bytes, {side} x {side} pixels).")
    facts = json.loads(output.text.rpartition("```json\n")[2].removesuffix("\n```"))
    assert facts == {"path": part.path, "size": part.size, "format": "png", "width": side, "version": 1}


def test_a_drawing_for_print_is_svg(tmp_path: Path) -> None:
    (part,) = draw(tmp_path, "hello", file_name="poster.PNG", format="svg").files
    assert (part.path, part.media_type) == ("poster-01234567.svg", "image/svg+xml")
    assert ET.parse(tmp_path / part.path).getroot().tag == "{http://www.w3.org/2000/svg}svg"


def test_the_same_code_may_be_drawn_again_and_another_is_never_overwritten(tmp_path: Path) -> None:
    first = draw(tmp_path, "hello")
    assert draw(tmp_path, "hello") == first
    assert failure(tmp_path, "goodbye").code == "file_exists"
    assert [path.name for path in tmp_path.iterdir()] == ["qr-01234567.png"]
    assert generate_qr_code.spec.may_run_again


def test_the_largest_text_fits_and_one_byte_more_is_refused_with_the_limit(tmp_path: Path) -> None:
    draw(tmp_path, "a" * 2331)
    draw(tmp_path, "中" * 777, file_name="chinese")
    error = failure(tmp_path, "a" * 2332, file_name="more")
    assert error.code == "text_too_long"
    assert "2332 bytes" in error.message
    assert "2331 bytes" in error.message


@pytest.mark.parametrize(
    ("text", "file_name", "code"),
    [
        ("", "qr", "empty_text"),
        ("\ud800", "qr", "bad_text"),
        ("hello", "", "bad_file_name"),
        ("hello", ".hidden", "bad_file_name"),
        ("hello", ".hidden/qr", "bad_file_name"),
        ("hello", "/", "bad_file_name"),
        ("hello", "/tmp/qr", "path_outside"),
        ("hello", "C:\\qr", "path_outside"),
        ("hello", "a" * 300, "not_writable"),
    ],
)
def test_what_cannot_be_drawn_or_named_is_refused(tmp_path: Path, text: str, file_name: str, code: str) -> None:
    assert failure(tmp_path, text, file_name=file_name).code == code
    assert not list(tmp_path.iterdir())


def test_a_picture_never_leaves_the_workspace(tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (workspace / "link").symlink_to(tmp_path)
    assert failure(workspace, "hello", file_name="link/qr").code == "path_outside"
    assert failure(workspace, "hello", file_name="../qr").code in {"path_outside", "bad_file_name"}
    assert not list(tmp_path.glob("*.png"))
