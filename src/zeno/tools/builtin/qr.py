"""QR codes as pictures in the workspace. Knows how to draw a text; knows nothing of what the text means."""

import io
from pathlib import Path, PurePosixPath
from typing import Literal

import msgspec

from zeno.core.errors import ToolFailed
from zeno.core.ports import ToolContext, ToolOutput
from zeno.tools.function import tool
from zeno.tools.workspace import confined, file_part, replacing

_MODULE_PIXELS = 8
_QUIET_ZONE = 4
"""Light modules around the symbol, the width that ISO/IEC 18004 asks for."""
_LIMIT = "2331 bytes (about 777 Chinese characters), or 3391 letters A-Z and digits, or 5596 digits"
"""What the largest symbol (version 40) holds at error correction level M, by ISO/IEC 18004."""


@tool(effect="write", repeatable=True, source="segno")
def generate_qr_code(text: str, ctx: ToolContext, file_name: str = "qr", format: Literal["png", "svg"] = "png") -> ToolOutput:  # noqa: A002
    """Draw a QR code that holds a text or a link, and save it as a picture in the workspace.

    Use it when someone asks for a QR code. Give each code its own file name. The result tells the path and size of the picture.

    Args:
        text: What scanning the code yields, for example "https://example.com". At most 2331 bytes of UTF-8.
        ctx: Where the call happens.
        file_name: Name of the picture without extension; the id of the conversation is added to it.
        format: "png" for a bitmap, "svg" for a drawing that can be printed at any size.
    """
    import segno

    if not text:
        raise ToolFailed(
            "The text for the QR code is empty. Give the text or link that scanning it should yield.", code="empty_text"
        )
    try:
        symbol = segno.make_qr(text, error="m", encoding="utf-8")
    except UnicodeEncodeError:
        raise ToolFailed("The text holds half a character (a lone surrogate). Correct the text.", code="bad_text") from None
    except segno.DataOverflowError:
        size = len(text.encode())
        raise ToolFailed(
            f"The text has {size} bytes; a QR code holds {_LIMIT}. Shorten it, or use a link.", code="text_too_long"
        ) from None
    drawing = io.BytesIO()
    symbol.save(drawing, kind=format, scale=_MODULE_PIXELS, border=_QUIET_ZONE)
    target = confined(ctx.workspace, _path(file_name, ctx.run_id, format))
    _save(drawing.getvalue(), target, file_name)
    part = file_part(ctx.workspace, target)
    side, _ = symbol.symbol_size(scale=_MODULE_PIXELS, border=_QUIET_ZONE)
    facts = {"path": part.path, "size": part.size, "format": format, "width": side, "version": symbol.version}
    return ToolOutput(
        text=f"Saved the QR code as {part.path} ({part.size} bytes, {side} x {side} pixels).\n\n"
        f"```json\n{msgspec.json.encode(facts).decode()}\n```",
        files=(part,),
    )


def _save(drawing: bytes, target: Path, file_name: str) -> None:
    try:
        if target.exists() and target.read_bytes() != drawing:
            raise ToolFailed(f"{target.name} holds another QR code already. Choose another file_name.", code="file_exists")
        with replacing(target) as draft:
            draft.write_bytes(drawing)
    except OSError as error:
        raise ToolFailed(
            f"{file_name!r} cannot be written: {error.strerror}. Choose another name.", code="not_writable"
        ) from None


def _path(file_name: str, run_id: str, suffix: str) -> str:
    """The picture's path: the name as given, with the beginning of the trace id so that two conversations do not collide."""
    wanted = PurePosixPath(file_name.strip().replace("\\", "/"))
    stem = wanted.stem if wanted.suffix.lower() in {".png", ".svg"} else wanted.name
    if not stem or any(part.startswith(".") for part in wanted.parts):
        raise ToolFailed(f"{file_name!r} is not a name for a picture. Give one such as 'shop-link'.", code="bad_file_name")
    return (wanted.parent / f"{stem}-{run_id[:8]}.{suffix}").as_posix()
