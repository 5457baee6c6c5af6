"""One JSON value of the protocol, listened to while it is being written: what it thinks and says is passed on at once.

It finds the value's end and what may be shown before that; it judges nothing and tolerates everything, since what the value
means is decided when it is whole. Brackets are matched by a stack, so a missing or a superfluous one does not confuse it for
longer than the brackets around it.
"""

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Literal

from zeno.models.prompted.strings import QUOTES, StringReader
from zeno.models.prompted.voice import Voice
from zeno.models.prompted.words import ACTIONS, ARGUMENTS, COMPLETE, KIND, TEXT, THINKING, TOOL, kind_of, plain

Role = Literal["top", "actions", "action", "other"]

_BLANK = re.compile(r"\s+")
_CLOSES = {"{": "}", "[": "]"}


@dataclass
class Speech:
    """An action as far as it was heard.

    `over` says that the quote behind its text has come, `whole` that the text indeed ended there; `complete` is its
    `isComplete`.
    """

    kind: str = ""
    pieces: list[str] = field(default_factory=list)
    over: bool = False
    whole: bool = False
    complete: bool | None = None

    @property
    def to_user(self) -> bool:
        """Whether this is known to be addressed to the user."""
        return kind_of(self.kind) == "DIRECT_RESPONSE"

    @property
    def text(self) -> str:
        """Its text as far as it was heard."""
        return "".join(self.pieces)


@dataclass
class _Frame:
    """An open bracket. `speech` is the action that it holds, if it holds one."""

    bracket: str
    role: Role
    key: str = ""
    in_value: bool = False
    word: str = ""
    speech: Speech | None = None
    text_ended: bool = False


@dataclass
class JsonValue:
    """A value from its first bracket on.

    `closed` says that its last bracket has come, `finished` that the end of the block came in place of its last brackets.
    `keys` are those of its outermost object and of its actions, `speeches` the actions heard in it.
    """

    voice: Voice
    closed: bool = False
    finished: bool = False
    keys: set[str] = field(default_factory=set)
    speeches: list[Speech] = field(default_factory=list)
    _raw: list[str] = field(default_factory=list)
    _frames: list[_Frame] = field(default_factory=list)
    _open_brackets: Counter[str] = field(default_factory=Counter)
    _string: StringReader | None = None
    _name: list[str] = field(default_factory=list)

    @property
    def raw(self) -> str:
        """The value as it was written."""
        return "".join(self._raw)

    @property
    def is_of_the_protocol(self) -> bool:
        """Whether this is meant as actions, and is not just some JSON in a text."""
        named = not self.keys.isdisjoint(TOOL) and not self.keys.isdisjoint(ARGUMENTS)
        marked = not self.keys.isdisjoint((*ACTIONS, *THINKING, COMPLETE[0])) or (self.closed and self.keys <= {*TEXT})
        return named or marked or any(kind_of(speech.kind) or speech.kind.isupper() for speech in self.speeches)

    def read(self, text: str, position: int) -> int:
        """Take in `text` from `position` to the value's end, or to a `<` outside its strings. Returns where it stopped."""
        while position < len(text) and not self.closed:
            start = position
            if self._string:
                position = self._read_string(self._string, text, position)
            elif blank := _BLANK.match(text, position):
                position = blank.end()
            elif text[position] == "<":
                break
            else:
                self._mark(text[position])
                position += 1
            self._raw.append(text[start:position])
        return position

    def add(self, text: str) -> None:
        """Keep a `<` and what follows it, which turned out to be no tag."""
        self._raw.append(text)

    def end(self) -> None:
        """Nothing more comes: a text that came to its closing quote is whole."""
        for frame in self._frames:
            self._settle(frame)

    def _mark(self, char: str) -> None:
        """One character outside strings and blanks."""
        frame = self._frames[-1] if self._frames else None
        if char in "{[":
            self._open(char, frame)
        elif frame is None:
            return
        elif char in "}]":
            self._close(char)
        elif char in QUOTES:
            self._string, self._name = StringReader(char), []
            frame.text_ended = False
        elif char == ":" and frame.bracket == "{" and not frame.in_value:
            self._begin_value(frame)
        elif char == ",":
            self._settle(frame)
            frame.key, frame.in_value, frame.word = "", False, ""
        else:
            frame.word += char
            frame.text_ended = False

    def _open(self, bracket: str, parent: _Frame | None) -> None:
        frame = _Frame(bracket, _role(bracket, parent))
        if frame.role == "action":
            self._speech(frame)
        self._frames.append(frame)
        self._open_brackets[_CLOSES[bracket]] += 1

    def _close(self, bracket: str) -> None:
        """Close the nearest bracket of this form, and those inside it that were forgotten; ignore one that fits none."""
        closed = "" if self._open_brackets[bracket] else bracket
        while closed != bracket:
            frame = self._frames.pop()
            self._settle(frame)
            closed = _CLOSES[frame.bracket]
            self._open_brackets[closed] -= 1
        self.closed = not self._frames

    def _begin_value(self, frame: _Frame) -> None:
        frame.key, frame.in_value, frame.word = plain(frame.key or frame.word), True, ""
        if frame.role in ("top", "action"):
            self.keys.add(frame.key)
        if frame.role == "top" and frame.key in THINKING:
            self.voice.begin_thought()

    def _settle(self, frame: _Frame) -> None:
        """A member is over: a text that ended where it should is whole, and a word may be `isComplete`."""
        if frame.speech and frame.text_ended:
            frame.speech.whole, frame.text_ended = True, False
        if frame.speech and frame.key in COMPLETE and frame.word.lower() in ("true", "false"):
            frame.speech.complete = frame.word.lower() == "true"

    def _read_string(self, string: StringReader, text: str, position: int) -> int:
        said, position = string.read(text, position)
        frame = self._frames[-1]
        listened = frame.role in ("top", "action") and frame.in_value
        if listened and frame.role == "top" and frame.key in THINKING:
            self.voice.think(said)
        elif listened and frame.key in TEXT and not self._speech(frame).over:
            self._hear(frame, said, string.closed)
        else:
            self._name.append(said)
        if string.closed:
            self._string = None
            self._end_string(frame, "".join(self._name))
        return position

    def _end_string(self, frame: _Frame, name: str) -> None:
        if frame.bracket == "{" and not frame.in_value:
            frame.key = name
        elif frame.key in KIND and frame.role in ("top", "action"):
            self._name_kind(self._speech(frame), name)

    def _name_kind(self, speech: Speech, kind: str) -> None:
        """The kind of an action is known now: what it said before may be shown."""
        if kind_of(speech.kind):
            return
        speech.kind = kind
        if speech.to_user:
            self.voice.begin_speech()
            self.voice.speak(speech.text)

    def _hear(self, frame: _Frame, said: str, ended: bool) -> None:
        """A piece of an action's text: shown at once when the action is known to speak to the user, else kept."""
        speech = self._speech(frame)
        speech.pieces.append(said)
        speech.over = frame.text_ended = ended
        if speech.to_user:
            self.voice.speak(said)

    def _speech(self, frame: _Frame) -> Speech:
        if frame.speech is None:
            frame.speech = Speech()
            self.speeches.append(frame.speech)
        return frame.speech


def _role(bracket: str, parent: _Frame | None) -> Role:
    if parent is None:
        return "top" if bracket == "{" else "actions"
    if parent.role == "top" and parent.in_value and parent.key in (*ACTIONS, "action"):
        return "action" if bracket == "{" else "actions"
    return "action" if parent.role == "actions" and bracket == "{" else "other"
