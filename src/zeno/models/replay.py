"""Earlier turns, made fit to be shown to a provider again. It knows what providers refuse, and no provider's own format."""

import re
import zlib

import msgspec

from zeno.core.arguments import Repaired, repaired
from zeno.core.lenient_json import paired
from zeno.core.messages import FilePart, Message

_STRANGE = re.compile(r"[^a-zA-Z0-9_-]")
_LONGEST_ID = 64
_HEAD = 200
"""How much of unreadable arguments is shown to the model again, in characters."""


def fit_id(call_id: str) -> str:
    """`call_id` as every provider takes it: letters, digits, `_` and `-`, at most 64 of them; the same for call and result."""
    fit = _STRANGE.sub("_", call_id)
    if fit == call_id and 0 < len(fit) <= _LONGEST_ID:
        return fit
    # The checksum keeps ids apart that differ only in what was replaced or cut off.
    return f"{fit[: _LONGEST_ID - 9]}_{zlib.crc32(call_id.encode('utf-8', 'replace')):08x}"


def fit_name(name: str) -> str:
    """The name of a called tool as every provider takes it: a model may have asked for one that could never exist."""
    return _STRANGE.sub("_", name)[:_LONGEST_ID] or "unnamed"


def arguments_object(text: str) -> msgspec.Raw:
    """The arguments of an earlier call as the JSON object that providers insist on, byte for byte if they are one.

    Otherwise they are the object that dispatch has made of them; for what it refused their head stands in.
    """
    text = paired(text.strip()) or "{}"
    try:
        msgspec.json.decode(text, type=dict[str, object])
    except (msgspec.DecodeError, RecursionError):
        return msgspec.Raw(msgspec.json.encode(_understood(text)))
    return msgspec.Raw(text.encode())


def _understood(text: str) -> dict[str, object]:
    try:
        read = repaired(text)
    except ValueError:
        read = Repaired(None)
    return read.value if isinstance(read.value, dict) and not read.truncated else {"_malformed": text[:_HEAD]}


def mentioned_files(message: Message) -> list[str]:
    """One line for each file that comes with a message: the model reads files with tools."""
    return [f"[file: {part.path}, {part.size} bytes]" for part in message.parts if isinstance(part, FilePart)]
