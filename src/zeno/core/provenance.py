"""Where arguments come from: the passage of somebody else's text that one was taken over from. Pure.

Whoever said a thing first said it: what the user said, or the model by itself before anybody else, is theirs; what was first
to be read in the result of an `untrusted` tool came from there. Only what is taken over as it stands can be told, so this
finds steering that names its target (an address, a link, an account), and proves of nothing that it is harmless.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Any

from msgspec import Struct

from zeno.core.arguments import canonical, known_arguments
from zeno.core.messages import FilePart, Message, TextPart
from zeno.core.ports import ToolSpec

AROUND = 160
"""Characters that are shown on each side of what was taken over."""

LONGEST = 2_000
"""Longer arguments are no names of anything: only what stands in them is looked for, not they as a whole."""

SHORTEST = 4
"""Shorter words are everywhere, and prove nothing."""

MOST_PIECES = 100
"""So many names of one call are looked for, the most telling first."""

_ADDRESS = re.compile(r"[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+")
_LINK = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^\s\"'<>)\]}，。；、）】」]+")
_HOST = re.compile(r"(?:[A-Za-z0-9-]+\.)+[A-Za-z][A-Za-z0-9-]+")
_QUOTED = re.compile(r"'([^'\n]+)'|\"([^\"\n]+)\"")
_NUMBER = re.compile(r"\d[\d -]{4,}\d")
_UNSEEN = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff\U000e0000-\U000e007f]")
_SPACE = re.compile(r"\s")


class Passage(Struct, frozen=True, forbid_unknown_fields=True):
    """Text that others wrote, and what an argument took over from it: `found`, between what stands `before` and `after` it.

    `tool` and `call_id` say in whose result it was read.
    """

    argument: str
    tool: str
    call_id: str
    before: str
    found: str
    after: str


def passage(
    arguments: Mapping[str, Any],
    spec: ToolSpec,
    *,
    conversation: Sequence[Message],
    instructions: str,
    tools: Mapping[str, ToolSpec],
    trusted: Set[str] = frozenset(),
) -> Passage | None:
    """The most telling passage that these arguments of a call were taken over from, if they were.

    `conversation` is all that was said, in its order, `instructions` the agent's, and `trusted` names the arguments that
    nobody needs to ask about. A tool that is no longer among `tools` counts as untrusted.
    """
    pieces = [piece for piece in _pieces(arguments, spec) if piece[0] not in trusted][:MOST_PIECES]
    if not pieces:
        return None
    own = _Text("", "", "\n".join((instructions, *_own(conversation, tools))))
    said = list(_said(conversation, tools))
    for argument, piece in pieces:
        pattern = _pattern(piece)
        if own.find(piece, pattern):
            continue
        for text in said:
            if found := text.find(piece, pattern):
                if not text.tool:
                    break
                start, end = found.span()
                before, after = text.shown[max(0, start - AROUND) : start], text.shown[end : end + AROUND]
                return Passage(argument, text.tool, text.call_id, before, text.shown[start:end], after)
    return None


class _Text:
    """Something that was said: as it is shown, and with its look-alikes made one; `tool` is "" where the model said it."""

    def __init__(self, tool: str, call_id: str, text: str) -> None:
        self.tool, self.call_id, self.shown = tool, call_id, _legible(text)
        self._alike = _alike(self.shown)
        self._lower = self._alike.lower()

    def find(self, piece: str, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Where the piece stands in it."""
        # Most pieces stand nowhere, which is found out much sooner without a pattern.
        return pattern.search(self._alike) if piece.lower() in self._lower else None


def _said(conversation: Sequence[Message], tools: Mapping[str, ToolSpec]) -> Iterator[_Text]:
    """What the model said, and what it read in untrusted results, in the order of the conversation."""
    for message in conversation:
        if message.role == "assistant":
            calls = (canonical(known_arguments(call.arguments)) or call.arguments for call in message.calls)
            yield _Text("", "", "\n".join((message.text, *calls)))
        for result in message.results:
            spec = tools.get(result.name)
            if spec is None or spec.untrusted:
                yield _Text(result.name, result.call_id, result.text)


def _own(conversation: Sequence[Message], tools: Mapping[str, ToolSpec]) -> Iterator[str]:
    """What the user said, named and answered."""
    for message in conversation:
        if message.role == "user":
            yield from (part.text for part in message.parts if isinstance(part, TextPart))
            yield from (part.path for part in message.parts if isinstance(part, FilePart))
        for result in message.results:
            if (spec := tools.get(result.name)) is not None and spec.asks:
                yield result.text


def _pieces(arguments: Mapping[str, Any], spec: ToolSpec) -> list[tuple[str, str]]:
    """What in the arguments names something, each with its argument, the most telling first: whom or what it reaches."""
    ranked: list[tuple[int, str, str]] = []
    for argument, value in arguments.items():
        # One of a few given words was chosen, not taken over.
        if "enum" in spec.parameters.get("properties", {}).get(argument, {}):
            continue
        for text in _texts(value):
            ranked += [(rank, argument, piece) for rank, piece in _named(_alike(_legible(text))) if len(piece) >= SHORTEST]
        if isinstance(value, str) and SHORTEST <= len(value) <= LONGEST and not _SPACE.search(value.strip()):
            ranked.append((3, argument, _alike(_legible(value)).strip()))
    return [(argument, piece) for _, argument, piece in sorted(dict.fromkeys(ranked), key=lambda each: each[0])]


def _named(text: str) -> Iterator[tuple[int, str]]:
    for address in _ADDRESS.findall(text):
        yield 0, address
    for link in _LINK.findall(text):
        yield 0, link
    for host in _HOST.findall(text):
        labels = host.split(".")
        # A name below one that was read belongs to the same people.
        for first in range(len(labels) - 1):
            yield 1, ".".join(labels[first:])
    for one, other in _QUOTED.findall(text):
        yield 2, one or other
    for number in _NUMBER.findall(text):
        yield 2, number


def _texts(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case Mapping():
            for item in value.values():
                yield from _texts(item)
        case list():
            for item in value:
                yield from _texts(item)
        case int() | float() if not isinstance(value, bool):
            yield str(value)


def _pattern(piece: str) -> re.Pattern[str]:
    """The piece as a whole, not as a part of a longer word; Chinese has no gaps between its words, so only Latin ones count."""
    start = r"(?<![A-Za-z0-9])" if re.match(r"[A-Za-z0-9]", piece) else ""
    end = r"(?![A-Za-z0-9])" if re.search(r"[A-Za-z0-9]$", piece) else ""
    return re.compile(start + re.escape(piece) + end, re.IGNORECASE)


def _legible(text: str) -> str:
    """Text without the characters that nobody sees."""
    return _UNSEEN.sub("", text)


class _Alike(dict[int, str]):
    """For a character the plain one that looks the same, as Unicode has it (NFKC), where that is one; else itself."""

    def __missing__(self, code: int) -> str:
        plain = unicodedata.normalize("NFKC", chr(code))
        self[code] = plain if len(plain) == 1 else chr(code)
        return self[code]


_ALIKE = _Alike()


def _alike(text: str) -> str:
    """Text in plain characters, each in the place of the one that looks the same."""
    return text.translate(_ALIKE)
