"""The story of the trials: reads, a write, dangerous calls alone and side by side, some of them refused or changed."""

CALLS = {
    "r1": "read",
    "w1": "write",
    "d1": "danger",
    "d2": "danger",
    "d3": "danger",
    "d4": "danger",
    "r2": "read",
    "w2": "write",
}
"""What each word's call may change."""

_TOOL = {"read": "look", "write": "keep", "danger": "charge"}


def _call(word: str) -> dict[str, object]:
    return {"name": _TOOL[CALLS[word]], "arguments": {"word": word}}


REPLIES: list[dict[str, object]] = [
    {"calls": [_call("r1"), _call("w1"), _call("d1")]},
    {"calls": [_call("d2"), _call("d3"), _call("d4")]},
    {"calls": [_call("r2"), _call("w2")]},
    {"text": "All done."},
]

TOOLS = '''
import builtins
import os

from zeno.tools.function import tool


def take_effect(word):
    """Happen outside, for good; the moments before and after are boundaries."""
    builtins.pass_boundary("before an effect")
    file = os.open(EFFECTS, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.write(file, (word + "\\n").encode())
    os.fsync(file)
    os.close(file)
    builtins.pass_boundary("after an effect")


@tool()
async def look(word: str) -> str:
    """Look. Use in trials.

    Args:
        word: the word
    """
    return f"looked at {word}"


@tool(effect="write")
async def keep(word: str) -> str:
    """Keep a word. Use in trials.

    Args:
        word: the word
    """
    take_effect(word)
    return f"kept {word}"


@tool(effect="danger")
async def charge(word: str) -> str:
    """Charge a word. Use in trials.

    Args:
        word: the word
    """
    take_effect(word)
    return f"charged {word}"
'''
