"""JSON as models write it, read from left to right: slips that leave one meaning are passed over, others are refused.

The mistakes are those of everyday: prose and fences around the value, commas and brackets too many or too few, other quotes,
bare keys, comments, Python's words, full-width punctuation, control characters and unknown escapes in strings, an early end.
Every expression is possessive or bounded and nothing is read twice, so the time grows with the length of the text.
"""

import json
import math
import re
from typing import Any, NoReturn

from zeno.core.brackets import CLOSER, CLOSING_RUN, NEXT, PLAIN, SPACE, Role, wrong_bracket

MOST_DEPTH = 100
"""How many containers may be open at once."""

MOST_WRONG = 4
"""How many brackets may be of the wrong kind; each may cost a look at the rest of the text."""

_ESCAPED_ONCE_TOO_OFTEN = re.compile(r'\s*[{\[]\s*\\"')
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_ESCAPES = {'"': '"', "'": "'", "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_WINDOWS_PATH = re.compile(r"""[A-Za-z]:(?:\\[^\\/:*?"<>|\s.][^\\/:*?"<>|\r\n.]*+)++(?:\.[^\\/:*?"<>|\r\n]*+)?""")
_NETWORK_PATH = re.compile(r"\\\\[\w.-]++\\[^\\]")
_DOUBTFUL = re.compile(r"\\(?:([nrt][A-Za-z]|x[0-9a-fA-F]{2}|U[0-9a-fA-F]{8}|u\{)|.)", re.DOTALL)
"""Beside unknown escapes, these may be a line's end or a backslash, a character's number or a name."""

_BLANK = re.compile(rf"(?:[{SPACE}]++|\\[nrt]|(?://|\#(?![^\s#]))[^\n]*+|/\*.*?(?:\*/|\Z))*+", re.DOTALL)
_FENCE = re.compile(rf"[{SPACE}]*+```[\w-]*+(.*)```[{SPACE}]*+", re.DOTALL)
_OPENING = re.compile(r"[{\[｛［]")
_BRACKET = re.compile(r"[{}\[\]｛｝［］]")
_FENCE_OPENING = re.compile(rf"[\w-]*+[{SPACE}]*+")
_TORN = re.compile(rf"[\"'”’][{SPACE}]*+(?:[:}}\]]|,[{SPACE}]*+[\"'“][^\"'”]*+[\"'”][{SPACE}]*+:)")
"""What stands between words only when they are the rest of a string or of an object."""

_BARE = re.compile(r"[\w.+$%-]+")
_NAME = re.compile(r"[^\W\d][\w$.-]*+|\$[\w$.-]*+")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_BEGUN_NUMBER = re.compile(r"-?[0-9]*\.?[0-9]*[eE]?[+-]?")
_CURLY = re.compile(r"""((?:[^”“"\\]++|\\.|[“"](?!\s*+(?:[,:}\]，：｝］]|\Z)))*+)([”“"]|\\?\Z)""", re.DOTALL)
_STRINGS = {
    '"': re.compile(r'((?:[^"\\]++|\\.)*+)("|\\?\Z)', re.DOTALL),
    "'": re.compile(r"((?:[^'\\]++|\\.|(?<=\w)'(?=\w))*+)('|\\?\Z)", re.DOTALL),
    "“": _CURLY,
    "”": _CURLY,
    "‘": re.compile(r"((?:[^’\\]++|\\.)*+)(’|\\?\Z)", re.DOTALL),
    "＂": re.compile(r"((?:[^＂\\]++|\\.)*+)(＂|\\?\Z)", re.DOTALL),
}
"""By the opening quote, a string's body and its end. An apostrophe between letters ends nothing, and neither does a quote
inside curly quotes unless it stands where a string may end."""

_LITERALS = {"true": True, "false": False, "null": None, "True": True, "False": False, "None": None}


def read_leniently(text: str) -> tuple[Any, bool]:
    """The one value in `text`, and whether the text ended before the value did.

    Raises:
        ValueError: there is no value, or more than one, or one that could be read in two ways; with line and column.
    """
    if _ESCAPED_ONCE_TOO_OFTEN.match(text):
        text = _unescaped(text)
    reader = _Reader(text)
    try:
        return reader.read(), reader.truncated
    except _Fault as fault:
        raise json.JSONDecodeError(fault.reason, text, fault.at) from None


class _Fault(Exception):
    """What is wrong at which offset; cheap, because a bracket in prose is found out by one."""

    def __init__(self, reason: str, at: int) -> None:
        super().__init__(reason)
        self.reason = reason
        self.at = at


class _Nothing:
    """The place of a value that was never written."""


class _Reader:
    """Reads one text from left to right. `open` holds the brackets that are still to come, the innermost last.

    `nested` holds the depths at which a container has one of its own kind as a member: there, a bracket that is missing or too
    many may belong to the one as well as to the other.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.open: list[str] = []
        self.nested: set[int] = set()
        self.wrong = 0
        self.certain = False
        self.truncated = False

    def read(self) -> Any:
        """The one value of the text."""
        alone = self._alone()
        if alone is not _Nothing:
            return alone
        self.at, self.truncated = 0, False
        values, prose = self._values()
        values = (prose and [value for value in values if isinstance(value, dict)]) or values
        if not values:
            self._fail("there is no JSON object or array", 0)
        if any(value != values[0] for value in values):
            self._fail("there are several different JSON values, send one", 0)
        return values[0]

    def _alone(self) -> Any:
        """The string, number or word that is the whole text, in a fence or not."""
        fenced = _FENCE.fullmatch(self.text)
        inner = _Reader(fenced[1] if fenced else self.text)
        if inner._peek() in ("", *CLOSER):
            return _Nothing
        doubtful = inner._peek() != '"'
        try:
            value = inner._value()
        except _Fault:
            return _Nothing
        self.truncated = inner.truncated
        return _Nothing if inner._peek() or (inner.truncated and doubtful) else value

    def _values(self) -> tuple[list[Any], bool]:
        """The objects and arrays of the text, and whether there are words around them.

        A bracket in prose that turns out to hold words is prose as well; one that opens the text or a fence, that holds a
        member or that has brackets in it is JSON and must be readable, or a part of an object would be taken for the whole.
        Empty brackets in prose alone are no value: they may be a placeholder.
        """
        found, prose, meant = [], False, False
        if (first := NEXT.match(self.text)) and first[2] and first[2][0] in _STRINGS:
            self._fail("the opening { is missing", 0)
        self._peek()
        while (opening := _OPENING.search(self.text, self.at)) and not self.truncated:
            before = self.text[self.at : opening.start()]
            self._check_prose(before)
            fenced = "```" in before and bool(_FENCE_OPENING.fullmatch(before.rpartition("```")[2]))
            self.certain = fenced or not before
            prose = prose or bool(before)
            self.at = opening.start()
            try:
                value = self._value()
            except _Fault as fault:
                inner = _BRACKET.search(self.text, fault.at)
                if self.certain or (inner and _OPENING.match(inner[0])):
                    raise
                self.open.clear()
                self.at = inner.end() if inner else len(self.text)
                continue
            if self.certain or not self.truncated:
                found.append(value)
                meant = meant or bool(value) or fenced or not prose
            self._leave()
        if not self.truncated:
            self._check_prose(self.text[self.at :])
        self.truncated = self.truncated and self.certain
        return found if meant else [], prose or bool(self.text[self.at :].strip())

    def _check_prose(self, words: str) -> None:
        """Refuse words that are the rest of a string or of an object: what was taken for whole ends or begins in them."""
        if _TORN.search(words):
            self._fail("the text around the JSON looks like a part of it")

    def _leave(self) -> None:
        """Pass the brackets that are too many. What looks like more members would be lost, so it is refused."""
        end = self.at
        self._pass(CLOSING_RUN)
        follows = NEXT.match(self.text, self.at)
        comma = any(char in ",，" for char in self.text[end : self.at])
        if follows and ((follows[2] and (comma or follows[2][0] in _STRINGS)) or (comma and self._is_value(follows.start(3)))):
            self._fail("the text goes on after its last closing bracket")
        self._peek()

    def _is_value(self, at: int) -> bool:
        word = _BARE.match(self.text, at)
        return self.text[at : at + 1] in _STRINGS or bool(word and (word[0] in _LITERALS or _NUMBER.match(word[0])))

    def _value(self) -> Any:
        char = self._peek()
        if char in CLOSER:
            return self._container(CLOSER[char])
        if char in _STRINGS:
            return self._string()
        return self._bare() if char else self._missing("a value")

    def _container(self, closer: str) -> Any:
        if len(self.open) == MOST_DEPTH:
            self._fail(f"more than {MOST_DEPTH} brackets are open")
        depth = len(self.open)
        self.nested.discard(depth)
        if self.open[-1:] == [closer]:
            self.nested.add(depth - 1)
        self.at += 1
        self.open.append(closer)
        members: dict[str, Any] = {}
        items: list[Any] = []
        previous = None
        while self._goes_on(closer, previous):
            if closer == "}":
                self._member(members)
            elif (item := self._value()) is not _Nothing:
                items.append(item)
            self.certain = True
            previous = self.at
        self.open.pop()
        return members if closer == "}" else items

    def _goes_on(self, closer: str, previous: int | None) -> bool:
        """Whether another member comes; `previous` is where the last one ended. Passes commas and the container's end."""
        comma = previous is None
        while (char := self._peek()) == ",":
            self.at += 1
            comma = True
        if not char:
            self._missing(f"the closing {closer}", fatal=len(self.open) - 1 in self.nested)
            return False
        if char in "}]":
            if char == closer:
                self.at += 1
                return False
            return self._goes_on_after_other(char, closer, previous)
        if previous is not None and not comma:
            self._check_gap(previous)
        return True

    def _goes_on_after_other(self, char: str, closer: str, previous: int | None) -> bool:
        """The same where a bracket of the wrong kind stands. An outer container's is left for that one to pass."""
        self.wrong += 1
        role = wrong_bracket(self.text, self.at, self.open)
        if role is None or self.wrong > MOST_WRONG or self._is_misplaced(role, char, previous):
            self._fail(f"the bracket {closer} is expected, not {char}")
        if role != "outer":
            self.at += 1
        return role == "extra" and self._goes_on(closer, previous)

    def _is_misplaced(self, role: Role, char: str, previous: int | None) -> bool:
        """Whether that bracket may just as well tell of another one that is missing or too many before it."""
        innermost = len(self.open) - 1
        if role == "outer":
            return innermost in self.nested
        if role == "own":
            return previous is None
        alone = previous is None or bool(self.text[previous : self.at].strip())
        unopened = char == "]" and self.text[(previous or 0) - 1] not in "]］"
        return alone or unopened or innermost + 1 in self.nested

    def _check_gap(self, previous: int) -> None:
        """Refuse a missing comma where the text may just as well be one number with a space or one string with quotes in it."""
        before, after, gap = self.text[previous - 1], self.text[self.at], self.text[previous : self.at]
        if (not gap and before not in "}]｝］") or (before.isdigit() and after.isdigit() and "\n" not in gap):
            self._fail("a comma is missing")

    def _member(self, members: dict[str, Any]) -> None:
        start = self.at
        key = self._key()
        if (char := self._peek()) != ":":
            if char:
                self._fail(f"after the key {_shown(key)} a colon is missing")
            self._missing("the colon after a key")
            return
        self.at += 1
        self.certain = True
        if (value := self._value()) is _Nothing:
            return
        if key in members and members[key] != value:
            self._fail(f"the key {_shown(key)} is there twice, with different values", start)
        members[key] = value

    def _key(self) -> str:
        if self._peek() in _STRINGS:
            return self._string()
        name = _NAME.match(self.text, self.at)
        if not name:
            self._fail(f"a key in double quotes is expected, not {self._here()}")
        self.at = name.end()
        return name[0]

    def _string(self) -> str:
        found = _STRINGS[self.text[self.at]].match(self.text, self.at + 1)
        if not found:
            self._fail("a string cannot be read")
        cut = found[2] in ("", "\\")
        if not cut and _is_doubtful(found[1]):
            self._fail("a string has backslashes that can be read in two ways, double them")
        self.at = found.end()
        self.truncated = self.truncated or cut
        return _unescaped(found[1])

    def _bare(self) -> Any:
        found = _BARE.match(self.text, self.at)
        word = found[0] if found else self.text[self.at]
        end = self.at + len(word)
        if word in _LITERALS:
            self.at = end
            return _LITERALS[word]
        if number := _NUMBER.fullmatch(word):
            return self._number(word, whole=number.lastindex is None)
        begun = _BEGUN_NUMBER.fullmatch(word) or any(full.startswith(word) for full in _LITERALS)
        if end < len(self.text) or not begun:
            self._fail(f"a value is expected, not {self._here()}; text needs double quotes, a number has no separators")
        self.at = end
        return self._missing("the rest of a value")

    def _number(self, word: str, whole: bool) -> float:
        try:
            number = int(word) if whole else finite(word)
        except ValueError:
            self._fail(f"the number {_shown(word)} is too large")
        self.at += len(word)
        return number

    def _peek(self) -> str:
        """The next character that means something, full width as ASCII; "" at the end of the text or of its fence."""
        self._pass(_BLANK)
        if self.text.startswith("```", self.at):
            return ""
        char = self.text[self.at : self.at + 1]
        return PLAIN.get(char, char)

    def _pass(self, pattern: re.Pattern[str]) -> None:
        self.at = _end(pattern, self.text, self.at)

    def _missing(self, what: str, fatal: bool = True) -> type[_Nothing]:
        """At the end of the text it was cut off; at the end of a fence something was forgotten."""
        if self.at >= len(self.text):
            self.truncated = True
        elif fatal:
            self._fail(f"{what} is missing")
        return _Nothing

    def _here(self) -> str:
        return _shown(self.text[self.at : self.at + 21])

    def _fail(self, reason: str, at: int | None = None) -> NoReturn:
        raise _Fault(reason, self.at if at is None else at)


def _end(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    return found.end() if found else at


def _shown(text: str) -> str:
    return repr(text if len(text) <= 20 else f"{text[:20]}…")


def finite(word: str) -> float:
    """A number with a fraction or an exponent. Raises `ValueError` when it is none that JSON knows."""
    number = float(word)
    if not math.isfinite(number):
        raise ValueError(f"{word} is not a JSON number")
    return number


def paired(text: str) -> str:
    """`text` with surrogate pairs as the characters they stand for, and halves of pairs as U+FFFD."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _unescaped(body: str) -> str:
    r"""A string's text. A backslash that begins no escape is itself, and so are all of a Windows path with such a one.

    Beside it, `\b` and `\f` are themselves too: they are a pattern or a formula, and nobody means a backspace.
    """
    if "\\" not in body:
        return body
    unknown = _unknown_escapes(body)
    if unknown and _WINDOWS_PATH.fullmatch(body):
        return body
    itself = "bf" if unknown else ""

    def character(escape: re.Match[str]) -> str:
        if escape[1]:
            return chr(int(escape[1], 16))
        return escape[0] if escape[2] in itself else _ESCAPES.get(escape[2], escape[0])

    return paired(_ESCAPE.sub(character, body))


def _unknown_escapes(body: str) -> str:
    return "".join(found[2] for found in _ESCAPE.finditer(body) if found[2] and found[2] not in _ESCAPES)


def _is_doubtful(body: str) -> bool:
    """Whether a string's backslashes may be meant as escapes or as themselves."""
    if "\\" not in body or _WINDOWS_PATH.fullmatch(body) or not any(char.isalpha() for char in _unknown_escapes(body)):
        return False
    return bool(_NETWORK_PATH.match(body)) or any(found[1] for found in _DOUBTFUL.finditer(body))
