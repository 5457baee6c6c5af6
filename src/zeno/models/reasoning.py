"""Reasoning in the fields of a reply: which ones there are, and how their pieces become one again. It shows nobody anything."""

from collections.abc import Mapping
from typing import Any

_TEXTS = ("text", "summary")


def spoken(value: Any) -> str:
    """The text in a field that holds a text, an object with one, or a list of either; parts of other kinds have none."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "".join(map(spoken, value))
    if isinstance(value, Mapping):
        return next(
            (spoken(value[key]) for key in ("text", "summary", "thinking", "reasoning", "content") if value.get(key)), ""
        )
    return ""


def is_thinking(part: Any) -> bool:
    """Whether a part of a content list is reasoning."""
    return isinstance(part, Mapping) and str(part.get("type")).startswith(("thinking", "reasoning"))


def joined(details: list[Any]) -> list[Any]:
    """OpenRouter's `reasoning_details` as they would have come at once: neighbours of one type and index are one piece."""
    whole: list[Any] = []
    for detail in details:
        last = whole[-1] if whole else None
        if isinstance(detail, dict) and isinstance(last, dict) and _continues(detail, last):
            grown = {key: (last.get(key) or "") + (detail.get(key) or "") for key in _TEXTS if key in last or key in detail}
            whole[-1] = last | {key: value for key, value in detail.items() if value is not None} | grown
        else:
            whole.append(detail)
    return whole


def _continues(detail: dict[str, Any], last: dict[str, Any]) -> bool:
    same = all(detail.get(key) == last.get(key) for key in ("type", "index"))
    return same and any(key in detail or "signature" in detail for key in _TEXTS if key in last)
