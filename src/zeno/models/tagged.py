"""Reasoning that comes as tags in the text: told apart while it streams. It knows the tags, not who sent them.

However the text is cut, the same is thinking and the same is text. Only an end that may still become a tag waits for what
follows, so a plain `<` is shown at once. In code, a tag is a word like any other.
"""

import re
from collections.abc import Iterable
from itertools import groupby

from zeno.core.ports import Piece, TextDelta, ThinkingDelta

_NAMES = ("think", "thinking", "reasoning", "thought")
_OPENING = {*(f"<{name}>" for name in _NAMES), "<|channel|>analysis<|message|>"}
_CLOSING = {*(f"</{name}>" for name in _NAMES), "<|end|>", "<|return|>", "<|channel|>final<|message|>"}
_UNSEEN = {"<|start|>assistant", "<|channel|>final<|message|>", "<|channel|>commentary<|message|>", "<|end|>", "<|return|>"}
"""Marks of gpt-oss around what is meant to be read; from its "harmony" format."""

_IN_TEXT = tuple(sorted(_OPENING | _CLOSING | _UNSEEN, key=len, reverse=True))
_IN_THINKING = tuple(sorted(_CLOSING, key=len, reverse=True))
_FENCE = 3
_PIECE = re.compile(r"`+|\n|<|[^`\n<]+")


class Tagged:
    """One reply's text. `feed` takes a piece in, `end` says that there are no more; both give what is certain by then."""

    def __init__(self) -> None:
        self._thinking = False
        self._held = ""
        self._shown = False
        """Whether anything but white space was text."""
        self._trim = False
        """Whether white space is left out: between the reasoning and the beginning of the text."""
        self._ticks = 0
        """How long the run of backticks is that the text ends with."""
        self._code = 0
        """How long the run of backticks was that opened the code which the text is in."""

    def feed(self, text: str) -> list[Piece]:
        """The deltas of a piece of text."""
        if (
            not self._held
            and not self._trim
            and not self._ticks
            and not ("<" in text or "`" in text or (self._code and "\n" in text))
        ):
            return [self._delta(text)] if text else []
        text, self._held = self._held + text, ""
        return self._merged(self._pieces(text))

    def end(self) -> list[Piece]:
        """The rest: a tag that was never finished is text, or thinking if it stands there."""
        held, self._held = self._held, ""
        return [self._delta(held)] if held else []

    def _pieces(self, text: str) -> Iterable[Piece]:
        at = 0
        while at < len(text):
            if text[at] == "<" and not self._in_code():
                tag = self._tag(text, at)
                if tag is None:
                    self._held = text[at:]
                    return
                if tag and self._take(tag):
                    at += len(tag)
                    continue
                piece = tag or "<"
            else:
                found = _PIECE.match(text, at)
                piece = found.group() if found else text[at]
            at += len(piece)
            self._notice_code(piece)
            if piece := self._trimmed(piece):
                yield self._delta(piece)

    def _tag(self, text: str, at: int) -> str | None:
        """The tag that begins at `at`; empty when none does, `None` when one still may."""
        tags = _IN_THINKING if self._thinking else _IN_TEXT
        rest = text[at : at + len(_IN_TEXT[0])].lower()
        found = next((tag for tag in tags if rest.startswith(tag)), "")
        if not found and any(tag.startswith(rest) for tag in tags):
            return None
        return text[at : at + len(found)]

    def _take(self, tag: str) -> bool:
        """Act on a tag; false when it is but text: the end of something that never began, after text was shown."""
        name = tag.lower()
        if not self._thinking and name in _CLOSING and name not in _UNSEEN and self._shown:
            return False
        opens = name in _OPENING
        self._trim = self._trim or (not opens and not self._shown)
        self._thinking = opens
        return True

    def _in_code(self) -> bool:
        self._notice_code("")
        return bool(self._code)

    def _notice_code(self, piece: str) -> None:
        """Keep account of backticks. A run opens code, its like closes it; code in a line ends with the line at the latest."""
        if self._thinking:
            return
        if piece.startswith("`"):
            self._ticks += len(piece)
            return
        if self._ticks:
            opened = self._code
            closes = self._ticks >= opened if opened >= _FENCE else self._ticks == opened
            self._code = self._ticks if not opened else 0 if closes else opened
            self._ticks = 0
        if piece == "\n" and self._code < _FENCE:
            self._code = 0

    def _trimmed(self, piece: str) -> str:
        if self._thinking or not self._trim:
            return piece
        piece = piece.lstrip()
        self._trim = not piece
        return piece

    def _delta(self, text: str) -> Piece:
        if self._thinking:
            return ThinkingDelta(text)
        self._shown = self._shown or not text.isspace()
        return TextDelta(text)

    @staticmethod
    def _merged(deltas: Iterable[Piece]) -> list[Piece]:
        """`deltas` with neighbours of a kind joined."""
        return [kind("".join(delta.text for delta in run)) for kind, run in groupby(deltas, type)]
