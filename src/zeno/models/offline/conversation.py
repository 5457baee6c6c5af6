"""Where a conversation stands: the request being served, what was done for it, and the files it may mean.

Everything is derived from the messages at each call, so nothing has to be remembered between two calls. A user message that
follows a question of ours answers it and belongs to the same job; any other user message starts a new one.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from zeno.core.messages import FilePart, Message, ToolCall, ToolResult
from zeno.models.offline.sentence import without_names

_CJK = re.compile(r"[\u3400-\u9fff]")
_LATIN_WORD = re.compile(r"[A-Za-z]{2,}")
_FENCE = re.compile(r"```json\s*\n(.*?)\n?```\s*(?:\[source: [^\]]*\]\s*)?$", re.DOTALL)
"""The supplement, and behind it the stamp of where a result came from and when."""


@dataclass(frozen=True, kw_only=True)
class Exchange:
    """A call of ours and what came back."""

    name: str
    arguments: Mapping[str, Any]
    result: ToolResult

    @property
    def done(self) -> bool:
        """Whether the tool did what was asked."""
        return self.result.outcome == "done"

    @property
    def data(self) -> Any:
        """The JSON supplement at the end of the result, `None` when there is none that can be read."""
        found = _FENCE.search(self.result.text)
        try:
            return json.loads(found[1]) if found else None
        except ValueError:
            return None

    @property
    def conclusion(self) -> str:
        """The result without its supplement."""
        return _FENCE.sub("", self.result.text).strip()


@dataclass(frozen=True, kw_only=True)
class Job:
    """One request and the work done for it so far.

    `answers` are the user's replies to questions of ours, oldest first. `attached` are the files of this job's own messages,
    `files` all files of the conversation, newest first. `past` are the exchanges of earlier jobs.
    """

    text: str
    answers: tuple[str, ...]
    attached: tuple[str, ...]
    files: tuple[str, ...]
    exchanges: tuple[Exchange, ...]
    past: tuple[Exchange, ...]
    language: str
    calls_made: int

    @property
    def said(self) -> str:
        """The request and the answers to our questions, as one text."""
        return "\n".join((self.text, *self.answers))

    def find(self, name: str, arguments: Mapping[str, Any]) -> Exchange | None:
        """The exchange of exactly this call, if it was made."""
        return next((e for e in self.exchanges if e.name == name and e.arguments == arguments), None)


def read(messages: Sequence[Message], fallback_language: str, starts_anew: Callable[[str], bool]) -> Job:
    """The job that the conversation has arrived at.

    `starts_anew` tells whether a user's text is a request of its own although a question of ours came before it.
    """
    first = _first_message(messages, starts_anew)
    users = [message for message in messages[first:] if message.role == "user"]
    texts = [message.text.strip() for message in users]
    exchanges = list(_exchanges(messages[first:]))
    return Job(
        text=texts[0] if texts else "",
        answers=tuple(texts[1:]),
        attached=_paths(users),
        files=_paths(messages),
        exchanges=tuple(exchanges),
        past=tuple(_exchanges(messages[:first])),
        language=language_of(texts[0] if texts else "", fallback_language),
        calls_made=sum(len(message.calls) for message in messages),
    )


def language_of(text: str, fallback: str) -> str:
    """The language of a sentence; file names, addresses and quotations do not count."""
    plain = without_names(text)
    chinese, latin = len(_CJK.findall(plain)), len(_LATIN_WORD.findall(plain))
    if chinese == latin == 0:
        chinese, latin = len(_CJK.findall(text)), 0
    if chinese == latin == 0:
        return fallback
    return "zh-CN" if chinese > latin else "en-US"


def _first_message(messages: Sequence[Message], starts_anew: Callable[[str], bool]) -> int:
    users = [index for index, message in enumerate(messages) if message.role == "user"]
    first = users[-1] if users else 0
    for index in reversed(users[:-1]):
        answer = messages[first]
        if not _is_question(messages[first - 1]) or starts_anew(answer.text):
            break
        first = index
    return first


def _is_question(message: Message) -> bool:
    """Our questions, and nothing else we say, end in a question mark."""
    return message.role == "assistant" and not message.calls and message.text.rstrip().endswith(("?", "？"))


def _exchanges(messages: Sequence[Message]) -> Iterator[Exchange]:
    results = {result.call_id: result for message in messages for result in message.results}
    for message in messages:
        for call in message.calls:
            if call.id in results:
                yield Exchange(name=call.name, arguments=_arguments(call), result=results[call.id])


def _arguments(call: ToolCall) -> dict[str, Any]:
    try:
        arguments = json.loads(call.arguments)
    except ValueError:
        return {}
    return arguments if isinstance(arguments, dict) else {}


def _paths(messages: Sequence[Message]) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for message in reversed(messages):
        parts = [part for part in message.parts if isinstance(part, FilePart)]
        for result in message.results:
            parts.extend(result.files)
        found.update(dict.fromkeys(part.path for part in parts))
    return tuple(found)
