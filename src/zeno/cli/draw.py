"""Drawing a run on the terminal, live: thinking, actions, results, the answer and how it ended."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from rich.console import Console
from rich.panel import Panel
from rich.status import Status
from rich.text import Text

from zeno.core.events import (
    ApprovalDecided,
    ApprovalRequested,
    ModelReplied,
    RunEnded,
    RunPaused,
    StepStarted,
    ToolFinished,
    ToolStarted,
)
from zeno.core.messages import ToolCall
from zeno.core.ports import Delta, Piece, RetryDelta, ThinkingDelta
from zeno.core.provenance import Passage
from zeno.i18n import catalogue, text
from zeno.stores.event_log import Record

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""Control and direction characters: what tools and models say must not steer the terminal."""

_MARKS = {"done": ("✓", "green"), "failed": ("✗", "red"), "rejected": ("⊘", "yellow"), "unknown": ("?", "magenta")}


@dataclass
class Drawing:
    """What is drawn of one run. Feed it with records and deltas in the order in which they come."""

    console: Console
    language: str
    _calls: dict[str, ToolCall] = field(default_factory=dict)
    _begun: dict[str, int] = field(default_factory=dict)
    _style: str = ""
    _column: int = 0
    _waiting: Status | None = None

    def show(self, item: Record | Delta) -> None:
        """Draw one more thing."""
        self._stop_waiting()
        if isinstance(item, RetryDelta):
            self._retry(item)
            return
        if not isinstance(item, Record):
            self._stream(item)
            return
        match item.event:
            case StepStarted(step=step, attempt=attempt):
                self._break()
                if attempt > 1:
                    self.console.print(Text(self._say("draw.asked_again"), "yellow"))
                self._wait(self._say("draw.thinking_now", step=step))
            case ModelReplied(message=message):
                self._break()
                self._calls.update((call.id, call) for call in message.calls)
            case ToolStarted() as started:
                self._begun[started.call_id] = item.at
                self._action(started)
                self._wait(started.name)
            case ToolFinished() as finished:
                self._result(finished, item.at)
            case ApprovalRequested() as requested:
                self._request(requested)
            case ApprovalDecided(decision=decision):
                verdict = str(type(decision).__struct_config__.tag)
                self.console.print(Text(f"⊙ {self._say(f'verdict.{verdict}')}", "cyan"))
            case RunPaused(waiting=waiting):
                lines = [self._say("draw.paused", count=len(waiting)), self._say("next.awaiting_approval")]
                self._panel("awaiting_approval", lines)
            case RunEnded() as ended:
                self._ending(ended)
            case _:
                pass

    def close(self) -> None:
        """Leave the terminal in order, also after an error."""
        self._stop_waiting()
        self._break()

    def _retry(self, delta: RetryDelta) -> None:
        why = "busy" if delta.code == "model_busy" else "away"
        seconds = math.ceil(delta.seconds)
        words = self._say(f"retry.{why}", seconds=seconds, attempt=delta.attempt, most=delta.most)
        self.console.print(Text(words, "yellow"))

    def _stream(self, delta: Piece) -> None:
        style = "dim italic" if isinstance(delta, ThinkingDelta) else ""
        if style != self._style:
            self._break()
            self._style = style
            if style:
                self.console.print(Text(f"· {self._say('draw.thinking')} ", "dim"), end="")
        clean = plain(delta.text)
        self._column = self._column + len(clean) if clean else self._column
        self.console.print(Text(clean, style), end="", soft_wrap=True)
        if clean.endswith("\n"):
            self._column = 0

    def _break(self) -> None:
        """End a line that is still open."""
        if self._column:
            self.console.print()
        self._column, self._style = 0, ""

    def _action(self, started: ToolStarted) -> None:
        call = self._calls.get(started.call_id)
        line = Text.assemble(("→ ", "cyan"), (f"{started.action} ", "dim cyan"), (plain(started.name), "bold cyan"))
        if call:
            line.append(f" {_short(call.arguments, 160)}", "dim")
        if started.repaired:
            line.append(f" [{self._say('draw.repaired')}]", "yellow")
        self.console.print(line)

    def _result(self, finished: ToolFinished, at: int) -> None:
        result = finished.result
        mark, style = _MARKS.get(result.outcome, ("–", "yellow"))
        took = (at - self._begun.get(result.call_id, at)) / 1000
        line = Text.assemble((f"{mark} ", style), (plain(result.name), style), (f" {took:.1f} s  ", "dim"))
        if result.outcome != "done":
            line.append(f"[{self._say(f'outcome.{result.outcome}')}] ", style)
        line.append(_short(result.text, 240))
        self.console.print(line)

    def _ending(self, ended: RunEnded) -> None:
        if ended.ending == "answered":
            return
        lines = [explained(self.language, ended)]
        if ended.ending != "asked_user":
            lines.append(self._say("draw.account", steps=ended.steps, done=_names(ended.done), failed=_names(ended.failed)))
        lines.append(self._say(f"next.{ended.ending}"))
        self._panel(ended.ending, lines)

    def _panel(self, ending: str, lines: list[str]) -> None:
        title = self._say(f"ending.{ending}")
        self.console.print(Panel(Text("\n".join(lines)), title=title, title_align="left", border_style="yellow"))

    def _request(self, requested: ApprovalRequested) -> None:
        run_id, _, number = requested.approval_id.partition(".")
        line = Text.assemble(("? ", "yellow"), (plain(requested.name), "bold yellow"), f" {_short(requested.arguments, 400)}")
        line.append(f"  [{self._say(f'cause_of_asking.{requested.cause}')}; {run_id[:12]}.{number}]", "dim")
        self.console.print(line)
        if requested.passage is not None:
            self.console.print(Text("  ").append_text(taken_over(self.language, requested.passage)))

    def _wait(self, what: str) -> None:
        if self.console.is_terminal:
            self._waiting = self.console.status(Text(plain(what), "dim"))
            self._waiting.start()

    def _stop_waiting(self) -> None:
        if self._waiting:
            self._waiting.stop()
            self._waiting = None

    def _say(self, key: str, **params: str | int) -> str:
        return text(self.language, f"cli.{key}", **params)


def taken_over(language: str, passage: Passage) -> Text:
    """The text that others wrote and an argument was taken from; what was taken stands out."""
    before, found, after = (plain(words).replace("\n", " ") for words in (passage.before, passage.found, passage.after))
    shown = Text(f"{text(language, 'cli.draw.taken_over', tool=plain(passage.tool))} …{before}", "dim")
    return shown.append(found, "bold yellow").append(f"{after}…")


def explained(language: str, ended: RunEnded) -> str:
    """The cause of an ending in words."""
    key = f"cli.error.{ended.code}"
    params: Mapping[str, str | int] = ended.params
    if key not in catalogue(language):
        key = f"cli.cause.{ended.code}"
    return plain(text(language, key, **params)) if key in catalogue(language) else ended.code


def plain(words: str) -> str:
    """Text without anything that would steer a terminal."""
    return _CONTROL.sub("", words.replace("\r\n", "\n"))


def _short(words: str, most: int) -> str:
    """The first line of a text, cut to `most` characters."""
    first = plain(words.strip()).partition("\n")[0]
    return first if len(first) <= most else f"{first[: most - 1]}…"


def _names(names: tuple[str, ...]) -> str:
    return ", ".join(names) or "–"
