"""Reads a reply of the protocol piece by piece: what may be shown, at once; what is to be done, at the end.

A state machine over text that may be cut anywhere: the same text gives the same result however it is cut. Of what could still
become a tag only that much is held back, and it is let go as soon as it cannot.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from zeno.core.ports import Piece
from zeno.models.prompted.value import JsonValue
from zeno.models.prompted.voice import Voice
from zeno.models.prompted.words import OPENING_KEYS, TAGS, plain

Place = Literal["prose", "thinking", "before_actions", "guess", "value"]

_SPECIAL = re.compile(r"[<{\[]")
_START = re.compile(r"""\[?\s*(?:\{\s*(?P<quote>["'“]?)(?P<key>[\w-]*)(?P<rest>.?))?""", re.DOTALL)
_TORN_END = re.compile(r"</actions>\s*`*\s*\Z|\s*`{3,}\s*\Z", re.IGNORECASE)


@dataclass
class Parser:
    """One reply. After `finish`, `voice` holds what was shown, `values` the JSON found, `prose` all text around it.

    `tagged` says that a tag of the protocol was seen, `opened` that an `<actions>` block was.
    """

    voice: Voice = field(default_factory=Voice)
    values: list[JsonValue] = field(default_factory=list)
    tagged: bool = False
    opened: bool = False
    _place: Place = "prose"
    _in_actions: bool = False
    _held: str = ""
    _prose: list[str] = field(default_factory=list)
    _in_block: list[JsonValue] = field(default_factory=list)
    _value: JsonValue | None = None

    @property
    def prose(self) -> str:
        """The text outside thinking and JSON."""
        return "".join(self._prose).strip()

    def feed(self, text: str) -> list[Piece]:
        """Take in the next piece of the reply; what to show for it."""
        position = 0
        while position < len(text):
            position = self._steps[self._place](self, text, position)
        return self.voice.taken()

    def finish(self) -> list[Piece]:
        """The reply is over; what is left to show. A torn tag at the end of a thought is dropped, elsewhere it is text."""
        held, self._held = self._held, ""
        if self._place == "guess" and '"' in held:
            self._begin_value(held)
            self._keep_value()
        elif self._place in ("prose", "guess"):
            self._prose.append(held)
        self._end_value()
        # What stands in the block was meant; JSON elsewhere was on the way to it.
        self.values = self._in_block or self.values
        return self.voice.taken()

    def _read_prose(self, text: str, position: int) -> int:
        """Text outside JSON, up to what may be a tag or, outside thinking, the beginning of JSON."""
        if self._held:
            return self._read_tag(text, position)
        thinking = self._place == "thinking"
        end = text.find("<", position) if thinking else _found(_SPECIAL, text, position)
        end = len(text) if end < 0 else end
        self._literal(text[position:end])
        if end < len(text):
            self._held = text[end]
            self._place = self._place if text[end] == "<" else "guess"
        return end + 1

    def _read_tag(self, text: str, position: int) -> int:
        """One character behind a `<`: the tag goes on, is complete, or was none."""
        grown = self._held + text[position]
        low = grown.lower()
        if any(tag.startswith(low) for tag in TAGS):
            self._held = grown
            if low in TAGS:
                self._held = ""
                self._turn(TAGS[low], grown)
            return position + 1
        held, self._held = self._held, ""
        self._literal(held)
        return position

    def _turn(self, meaning: str, tag: str) -> None:
        """A tag is complete."""
        was, self.tagged = self._place, True
        if self._value:
            self._value.finished = meaning == "acted" and self._value.raw.rstrip().endswith(("}", "]"))
        self._end_value()
        if meaning == "think":
            self._place, self._in_actions = "thinking", False
            self.voice.begin_thought()
        elif meaning == "actions" and was == "thinking":
            self._place, self._held = "before_actions", tag
        elif meaning == "actions":
            self._enter_actions()
        elif meaning == "acted":
            self._in_actions = False
        elif meaning == "thought" and was != "thinking":
            self._was_thinking()
        elif was == "thinking":
            self._place = "prose"

    def _read_before_actions(self, text: str, position: int) -> int:
        """Behind an `<actions>` in a thought that was not closed: it begins the block if JSON follows, else it is thinking."""
        if text[position].isspace():
            self._held += text[position]
            return position + 1
        held, self._held = self._held, ""
        if text[position] in "{[`":
            self._enter_actions()
        else:
            self._place = "thinking"
            self._literal(held)
        return position

    def _enter_actions(self) -> None:
        self._place, self._in_actions, self.opened = "prose", True, True

    def _was_thinking(self) -> None:
        """A thought ends that was not seen to begin: what came before was thinking, and what was only thought is not done."""
        self.voice.begin_thought()
        self.voice.think("".join(self._prose))
        self._prose.clear()
        self.values.clear()
        self._in_block.clear()

    def _read_guess(self, text: str, position: int) -> int:
        """Behind a bracket: whether it begins JSON of the protocol, seen by its first key. In the block it does."""
        if self._in_actions:
            decided: bool | None = True
        else:
            decided = _begins_protocol(self._held + text[position])
            if decided is None:
                self._held += text[position]
                return position + 1
        held, self._held = self._held, ""
        if decided:
            self._begin_value(held)
        else:
            self._place = "prose"
            self._prose.append(held)
        return position

    def _begin_value(self, text: str) -> None:
        self._place, self._value = "value", JsonValue(self.voice)
        self._value.read(text, 0)

    def _read_value(self, text: str, position: int) -> int:
        if self._held:
            return self._read_tag(text, position)
        value = self._value
        assert value is not None  # noqa: S101 - this place has a value
        position = value.read(text, position)
        if value.closed:
            self._end_value()
        elif position < len(text):
            self._held = text[position]
            position += 1
        return position

    def _end_value(self) -> None:
        """The value is over, closed or not: it is kept if it is of the protocol, and is text if it is not."""
        if self._value and (self._in_actions or self._value.is_of_the_protocol):
            self._keep_value()
        elif self._value:
            self._prose.append(self._value.raw)
            self._value, self._place = None, "prose"

    def _keep_value(self) -> None:
        assert self._value is not None  # noqa: S101 - called where there is one
        self._value.end()
        (self._in_block if self._in_actions else self.values).append(self._value)
        self._value, self._place = None, "prose"

    def _literal(self, text: str) -> None:
        """Text that is no tag."""
        if self._place == "thinking":
            self.voice.think(text)
        elif self._value:
            self._value.add(text)
        else:
            self._prose.append(text)

    _steps: ClassVar[dict[Place, Callable[["Parser", str, int], int]]] = {
        "prose": _read_prose,
        "thinking": _read_prose,
        "before_actions": _read_before_actions,
        "guess": _read_guess,
        "value": _read_value,
    }


def json_of(value: JsonValue) -> str:
    """The JSON of a value. What ended without its brackets may have run over the end of the block or of a fence."""
    return value.raw if value.closed else _TORN_END.sub("", value.raw)


def _found(pattern: re.Pattern[str], text: str, position: int) -> int:
    match = pattern.search(text, position)
    return match.start() if match else -1


def _begins_protocol(text: str) -> bool | None:
    """Whether an object or a list that begins like this is of the protocol; `None` while that is open."""
    start = _START.match(text)
    if start is None or start.end() < len(text):
        return False
    key, rest = start["key"] or "", start["rest"] or ""
    if not rest:
        return None if any(name.startswith(plain(key)) for name in OPENING_KEYS) else False
    return bool(key) and plain(key) in OPENING_KEYS and rest in "\"'”: \n\t"
