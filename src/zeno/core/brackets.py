"""What a closing bracket of the wrong kind was meant to be, in JSON that a model wrote. Knows brackets and what comes next."""

import re
from typing import Literal

Role = Literal["own", "outer", "extra"]

SPACE = r"\s\ufeff\u200b-\u200d\u2060"
QUOTES = "\"'“”‘＂"
CLOSER = {"{": "}", "[": "]"}
PLAIN = dict(zip("｛｝［］，：", "{}[],:", strict=True))
_KEY = r"""(?:"[^"\\]{0,99}"|'[^'\\]{0,99}'|“[^”\\]{0,99}”|[^\W\d][\w$.-]{0,99})\s*+[:：]"""
NEXT = re.compile(rf"([,，\s]*+)(?:({_KEY})|(.)|\Z)", re.DOTALL)
"""Commas and blanks, then the key of a member or any other character."""

CLOSING_RUN = re.compile(rf"[{SPACE},，}}\]｝］]*+")
_TOKEN = re.compile(r"""\"(?:[^"\\]++|\\.)*+\"|[{}\[\]｛｝［］]""", re.DOTALL)


def wrong_bracket(text: str, at: int, still_open: list[str]) -> Role | None:
    """The role of the bracket at `at`; `still_open` holds the brackets that are to come, the innermost last.

    It is the innermost container's `own`, mistyped; or that one is missing, and this is an `outer` container's; or it is one
    too many, `extra`. One of these must suit what follows, or be the only one that leaves no other bracket wrong: else `None`.
    """
    char = PLAIN.get(text[at], text[at])
    outer = still_open[:-1]
    readings: dict[Role, list[str]] = {"own": outer, "extra": still_open}
    if char in outer:
        readings["outer"] = outer[: len(outer) - 1 - outer[::-1].index(char)]
    fitting = [role for role, stack in readings.items() if _suits(text, at + 1, stack)]
    if len(fitting) > 1:
        fitting = [role for role in fitting if _balances(text, at + 1, readings[role])]
    if len(fitting) == 1:
        return fitting[0]
    rest = CLOSING_RUN.match(text, at)
    if not fitting and rest and not text[rest.end() :].strip():  # only brackets are left: everything is closed
        return "outer" if "outer" in readings else "own"
    return None


def _suits(text: str, at: int, still_open: list[str]) -> bool:
    """Whether the brackets that come next, and the member or item after them, suit containers that are open then."""
    left = list(still_open)
    for found in NEXT.finditer(text, at):
        char = PLAIN.get(found[3], found[3])
        if not found[2] and char in ("}", "]"):
            if not left or left.pop() != char:
                return False
            continue
        goes_on = bool(found[2]) or bool(found[1].strip()) or (char or " ") in QUOTES
        return left[-1:] == ["}" if found[2] else "]"] if goes_on else not left
    return not left


def _balances(text: str, at: int, still_open: list[str]) -> bool:
    """Whether all brackets that come close what is open then, and no more."""
    left = list(still_open)
    for found in _TOKEN.finditer(text, at):
        char = PLAIN.get(found[0], found[0])
        if char in CLOSER:
            left.append(CLOSER[char])
        elif char in ("}", "]") and (not left or left.pop() != char):
            return False
    return not left
