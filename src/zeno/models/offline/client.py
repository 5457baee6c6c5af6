"""The offline model client: reads the request, picks tools, and answers from what they found.

It is no language model and says so. Every call looks at the whole conversation and returns the next tool calls or the final
text; it keeps nothing between calls. Reading and embedding are computation, so they run in a thread.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field
from typing import Any

from zeno.core.messages import Message, Part, TextPart, ThinkingPart, ToolCall
from zeno.core.ports import Delta, ModelRequest, Reply, TextDelta, ThinkingDelta, ToolSpec, Turn
from zeno.i18n import text
from zeno.models.embedding import BundledEmbedder
from zeno.models.offline import arguments, conversation, errands, replies
from zeno.models.offline.choose import Choice, choose, starts_anew
from zeno.models.offline.conversation import Exchange, Job
from zeno.models.offline.errands import Unclear
from zeno.models.offline.tables import step as tables

MODEL = "offline"

Call = tuple[str, dict[str, Any]]


@dataclass(frozen=True, kw_only=True)
class OfflineClient:
    """A `ModelClient` that needs no model: rules, a bundled embedder and arithmetic."""

    embedder: BundledEmbedder = field(default_factory=BundledEmbedder)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Delta | Reply, None]:
        """What it understood, then either tool calls or the text of an answer or a question."""
        reply = await asyncio.to_thread(self._reply, request)
        for part in reply.message.parts:
            if isinstance(part, ThinkingPart):
                for line in part.text.splitlines(keepends=True):
                    yield ThinkingDelta(line)
            elif isinstance(part, TextPart):
                for line in part.text.splitlines(keepends=True):
                    yield TextDelta(line)
        yield reply

    def _reply(self, request: ModelRequest) -> Reply:
        job = conversation.read(request.messages, request.language, starts_anew)
        try:
            return self._next(job, request.tools)
        except Unclear as question:
            return _spoken(str(question), "question", text(job.language, "offline.thinking.ask"))

    def _next(self, job: Job, tools: Sequence[ToolSpec]) -> Reply:
        choice = choose(job, tools, self.embedder)
        if choice.kind in ("talk", "abilities", "thanks", "beyond"):
            return _spoken(
                text(job.language, f"offline.talk.{choice.kind}"), "answer", text(job.language, "offline.thinking.direct")
            )
        errand_calls = _errands(choice, job, tools)
        names = frozenset(spec.name for spec in tools)
        step = tables.next_step(job, names, self.embedder) if choice.kind == "table" else tables.TableStep()
        pending = [call for call in (*errand_calls, *step.calls) if job.find(*call) is None and call[0] in names]
        if pending:
            return _calling(pending, step.thinking, job)
        return _spoken(_answer(choice, job, errand_calls, step.text), "answer", text(job.language, "offline.thinking.answer"))


def _errands(choice: Choice, job: Job, tools: Sequence[ToolSpec]) -> list[Call]:
    """The calls of the small tools that the job asks for; those already made keep their results."""
    specs = {spec.name: spec for spec in tools}
    calls: list[Call] = []
    for name in choice.tools:
        found = errands.arguments(name, job)
        if found is None:
            found = [arguments.filled(specs[name].parameters, job)] if name in specs else []
        calls += [(name, each) for each in found]
    return calls


def _answer(choice: Choice, job: Job, calls: Sequence[Call], about_table: str) -> str:
    made = [exchange for call in calls if (exchange := job.find(*call))]
    unresolved = [exchange for exchange in made if exchange.result.outcome == "failed"]
    if made and len(unresolved) == len(made) and choice.kind == "errands":
        raise Unclear(_what_instead(unresolved, job))
    parts = [about_table, replies.listed(made, job)]
    if choice.unserved:
        parts.append(text(job.language, "offline.talk.partly"))
    spoken = "\n\n".join(part for part in parts if part)
    return spoken or text(job.language, "offline.answer.no_steps_left")


def _what_instead(failed: Sequence[Exchange], job: Job) -> str:
    told = "\n".join(replies.told(exchange, job.language) for exchange in failed)
    key = f"offline.instead.{failed[0].name}"
    known = key.removeprefix("offline.instead.") in (
        "get_weather",
        "query_dns",
        "calculate",
        "read_file",
        "write_temporary_file",
    )
    question = text(job.language, key if known else "offline.instead.other")
    there = (
        text(job.language, "offline.ask.files_there", files=", ".join(job.files))
        if job.files and "file" in failed[0].name
        else ""
    )
    return f"{told}\n{there}{question}"


def _calling(calls: Sequence[Call], thinking: str, job: Job) -> Reply:
    names = text(job.language, "offline.words.comma").join(dict.fromkeys(name for name, _ in calls))
    thought = "\n".join(line for line in (thinking, text(job.language, "offline.thinking.call", tools=names)) if line)
    parts: list[Part] = [ThinkingPart(thought)]
    for number, (name, values) in enumerate(calls, start=job.calls_made + 1):
        parts.append(ToolCall(id=f"call_{number}", name=name, arguments=json.dumps(values, ensure_ascii=False)))
    return Reply(message=Message(role="assistant", parts=tuple(parts)), turn="answer", finish_reason="tool_calls", model=MODEL)


def _spoken(words: str, turn: Turn, thinking: str) -> Reply:
    message = Message(role="assistant", parts=(ThinkingPart(thinking), TextPart(words)))
    return Reply(message=message, turn=turn, finish_reason="stop", model=MODEL)
