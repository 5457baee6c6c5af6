"""Bytes of values that never change, encoded once. It knows neither what the values are nor where the bytes go."""

import json
from collections.abc import Callable
from typing import Any, Generic, TypeVar

import msgspec

MOST_BYTES = 32 << 20

T = TypeVar("T")


class Remembered(Generic[T]):
    """Encodes each value once, by identity: a conversation is the same messages again and again, and hashing them costs more.

    The value is kept beside its bytes, so that its identity stays its own. Above `most` bytes everything is forgotten.
    """

    def __init__(self, encode: Callable[[T], bytes], most: int = MOST_BYTES) -> None:
        self._encode = encode
        self._most = most
        self._held = 0
        self._known: dict[int, tuple[T, bytes]] = {}

    def __call__(self, value: T) -> bytes:
        """The bytes of `value`."""
        known = self._known.get(id(value))
        if known is None:
            known = (value, self._encode(value))
            self._held += len(known[1])
            if self._held > self._most:
                self._known.clear()
                self._held = len(known[1])
            self._known[id(value)] = known
        return known[1]


def encoded(value: Any) -> bytes:
    """`value` as JSON, whatever is in its texts: half a surrogate pair, as in a broken file name, becomes a question mark."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
