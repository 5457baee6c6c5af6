"""What has been said so far: thinking and words for the user in the order in which they came, ready to be shown."""

from dataclasses import dataclass, field

from zeno.core.ports import Piece, TextDelta, ThinkingDelta

BETWEEN = "\n\n"
"""What separates two thoughts, and two messages to the user."""


@dataclass
class Voice:
    """Collects what may be shown."""

    _thoughts: list[str] = field(default_factory=list)
    _words: list[str] = field(default_factory=list)
    _fresh: list[Piece] = field(default_factory=list)
    _new_thought: bool = True
    _new_speech: bool = True

    @property
    def thinking(self) -> str:
        """All thinking so far."""
        return "".join(self._thoughts)

    @property
    def text(self) -> str:
        """All words for the user so far."""
        return "".join(self._words)

    def begin_thought(self) -> None:
        """What is thought next stands apart from what was thought before."""
        self._new_thought = True

    def begin_speech(self) -> None:
        """What is said next stands apart from what was said before."""
        self._new_speech = True

    def think(self, text: str) -> None:
        """Thinking, without the blanks it begins with."""
        if self._new_thought:
            text = text.lstrip()
            text = f"{BETWEEN}{text}" if text and self._thoughts else text
        if text:
            self._new_thought = False
            self._thoughts.append(text)
            self._show(ThinkingDelta(text))

    def speak(self, text: str) -> None:
        """Words for the user."""
        if not text:
            return
        if self._new_speech and self._words:
            text = f"{BETWEEN}{text}"
        self._new_speech = False
        self._words.append(text)
        self._show(TextDelta(text))

    def taken(self) -> list[Piece]:
        """What has come since the last time, neighbours of one kind joined."""
        fresh, self._fresh = self._fresh, []
        return fresh

    def _show(self, delta: Piece) -> None:
        if self._fresh and type(self._fresh[-1]) is type(delta):
            self._fresh[-1] = type(delta)(self._fresh[-1].text + delta.text)
        else:
            self._fresh.append(delta)
