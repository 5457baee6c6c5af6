"""The inside of a JSON string, decoded while it is being written.

Knows escapes (RFC 8259, section 7), and no JSON around them.
"""

import re

QUOTES = {'"': '"', "'": "'", "“": "”"}
"""Quotes that open a string, and what closes it. Only the first is JSON; models write the others as well."""

REPLACEMENT = "\ufffd"

_ESCAPES = {'"': '"', "'": "'", "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_RUNS = {end: re.compile(rf"[^\\{end}]+") for end in QUOTES.values()}
_HEX = frozenset("0123456789abcdefABCDEF")
_LONGEST_ESCAPE = len("\\u0000")


class StringReader:
    """Decodes one string. What it gives only grows: half an escape and a lone high surrogate wait for what follows."""

    def __init__(self, quote: str) -> None:
        self.closed = False
        self._end = QUOTES[quote]
        self._run = _RUNS[self._end]
        self._escape = ""
        self._high = 0

    def read(self, text: str, position: int) -> tuple[str, int]:
        """Take in `text` from `position` up to the closing quote: what it says, and the position behind what was read."""
        said: list[str] = []
        while position < len(text) and not self.closed:
            if not self._escape and (run := self._run.match(text, position)):
                said.append(self._settled(run.group()))
                position = run.end()
                continue
            words, taken = self._step(text[position])
            said.append(words)
            position += taken
        return "".join(said), position

    def _step(self, char: str) -> tuple[str, int]:
        """One character that is not plain: what it settles, and whether it was used up."""
        if not self._escape:
            self.closed = char == self._end
            self._escape = "" if self.closed else char
            return (self._settled("") if self.closed else ""), 1
        if self._escape == "\\" and char != "u":
            self._escape = ""
            # An escape that JSON does not know, as in `C:\data`, stands for itself.
            return self._settled(_ESCAPES.get(char, f"\\{char}")), 1
        if self._escape != "\\" and char not in _HEX:
            torn, self._escape = self._escape, ""
            return self._settled(torn), 0
        self._escape += char
        if len(self._escape) < _LONGEST_ESCAPE:
            return "", 1
        unit, self._escape = int(self._escape[2:], 16), ""
        return self._unit(unit), 1

    def _unit(self, unit: int) -> str:
        """A UTF-16 unit: a pair becomes one character, a lone half the replacement character."""
        if 0xD800 <= unit < 0xDC00:
            before, self._high = self._settled(""), unit
            return before
        if 0xDC00 <= unit < 0xE000:
            high, self._high = self._high, 0
            return chr(0x10000 + ((high - 0xD800) << 10) + unit - 0xDC00) if high else REPLACEMENT
        return self._settled(chr(unit))

    def _settled(self, text: str) -> str:
        """`text`, behind the high surrogate that now turns out to be alone."""
        alone, self._high = bool(self._high), 0
        return f"{REPLACEMENT}{text}" if alone else text
