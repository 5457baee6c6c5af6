"""What a model wrote where JSON was asked for, read as what it plainly meant or refused with the place of the fault.

Strict JSON comes first and its meaning is never changed; only text that is not JSON is read leniently. Nothing is invented: a
text without JSON, a bare word, a thousands separator or two different objects are refused. Text that ends too early is closed
and marked, because half an argument must not reach a tool. Knows neither tools nor schemas.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from zeno.core.errors import ToolFailed
from zeno.core.lenient_json import finite, paired, read_leniently
from zeno.core.messages import ToolCall
from zeno.core.ports import ToolSpec

MOST_CHARACTERS = 300_000
"""Longer texts are read strictly only."""


class Repaired(Struct, frozen=True):
    """A value, whether its text had to be repaired, and whether the text ended before the value did."""

    value: Any
    repaired: bool = False
    truncated: bool = False


def arguments_of(call: ToolCall) -> Repaired:
    """The arguments of a call as an object; an empty text is an empty object.

    Raises:
        ToolFailed: `bad_arguments`, with the place of the fault; also when the arguments were cut off.
    """
    if not call.arguments.strip():
        return Repaired({})
    try:
        read = repaired(call.arguments)
    except ValueError as error:
        raise _malformed(call, f"are not valid JSON: {error}") from None
    if read.truncated:
        fault = "are not valid JSON: they end too early, as when the output is cut by the token limit"
        raise _malformed(call, fault, "Send them whole; if they are long, send shorter ones in several calls. ")
    if not isinstance(read.value, dict):
        raise _malformed(call, "must be one JSON object")
    return read


def known_arguments(text: str) -> dict[str, Any] | None:
    """The arguments in a text, `None` when `arguments_of` would refuse them."""
    try:
        value: dict[str, Any] = arguments_of(ToolCall("", "", text)).value
    except ToolFailed:
        return None
    return value


def canonical(arguments: Mapping[str, Any] | None) -> str:
    """Arguments as the one JSON text that equal arguments share: names sorted, no spaces, whole numbers as integers.

    Those that cannot be read are the empty text.
    """
    if arguments is None:
        return ""
    return as_json(arguments)


def mark(spec: ToolSpec, arguments: Mapping[str, Any]) -> str:
    """What calls of a tool have in common that would do the same: the digest of what it receives."""
    return digest(canonical(spec.completed(arguments)))


def as_json(value: Any) -> str:
    """A value as the one JSON text that equal values share."""
    return json.dumps(_whole(value), ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def _whole(value: Any) -> Any:
    """`value` with numbers such as 2.0 as 2: models write either."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    if isinstance(value, Mapping):
        return {name: _whole(item) for name, item in value.items()}
    return [_whole(item) for item in value] if isinstance(value, list) else value


def digest(text: str) -> str:
    """What stands for a text where the text itself should not: 16 hexadecimal digits of its SHA-256."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _malformed(call: ToolCall, fault: str, advice: str = "", most: int = 200) -> ToolFailed:
    """The failure of unreadable arguments, with their head and length only: a huge payload would inflate the next prompt."""
    text = call.arguments
    head = text if len(text) <= most else f"{text[:most]}… ({len(text)} characters)"
    message = f"The arguments of {call.name} {fault}. The tool has not run. {advice}They begin: {head}"
    return ToolFailed(message, code="bad_arguments")


def repaired(text: str) -> Repaired:
    """The JSON value in `text`: strictly if it is JSON, else leniently, without prose, fences and slips around and inside it.

    A string that holds a JSON object is that object, encoded twice. Halves of surrogate pairs become U+FFFD.

    Raises:
        ValueError: there is no value, or more than one, or one that could be read in two ways; with line and column.
    """
    whole = _with_whole_characters(text)
    try:
        value = json.loads(whole, parse_float=finite, parse_constant=finite)
    except (ValueError, RecursionError) as error:
        if len(whole) > MOST_CHARACTERS:
            raise ValueError(f"{error}; more than {MOST_CHARACTERS} characters are not repaired") from None
    else:
        return _decoded(Repaired(value, repaired=whole != text))
    value, truncated = read_leniently(whole)
    return _decoded(Repaired(value, True, truncated))


def _decoded(outer: Repaired) -> Repaired:
    """The object in a string that was encoded twice; anything else as it is."""
    if not (isinstance(outer.value, str) and outer.value.lstrip().startswith(("{", '"'))):
        return outer
    try:
        inner = repaired(outer.value)
    except ValueError:
        return outer
    return Repaired(inner.value, True, inner.truncated) if isinstance(inner.value, dict) else outer


_SURROGATE = re.compile("[\ud800-\udfff]")
_PAIR_OR_HALF = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(\\u[dD][89a-fA-F][0-9a-fA-F]{2})|\\.", re.DOTALL
)


def _with_whole_characters(text: str) -> str:
    """`text` without halves of surrogate pairs, written or escaped: no encoder takes them."""
    if _SURROGATE.search(text):
        text = paired(text)
    return _PAIR_OR_HALF.sub(lambda found: r"\ufffd" if found[1] else found[0], text) if r"\u" in text else text
