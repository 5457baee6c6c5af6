"""Telemetry: what happens in runs as OpenTelemetry traces, one trace for each run, whichever processes drive it.

Made from the records alone, after they were written. The trace's id is the run's, and every span's id follows from what it is
about, so that a run that pauses, moves or survives a crash stays one trace and nothing has to be kept open meanwhile.

Source of the names: OpenTelemetry semantic conventions for generative AI (`gen_ai.*`).
"""

import asyncio
import hashlib
import re
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec

from zeno.core.errors import ConfigError
from zeno.core.events import ModelReplied, RunEnded, RunStarted, StepStarted, ToolFinished, ToolStarted
from zeno.core.trace import run_span
from zeno.runs.clock import now
from zeno.runs.owner import this_process
from zeno.stores.event_log import Record
from zeno.stores.runs import Run

if TYPE_CHECKING:
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import SpanProcessor
    from opentelemetry.trace import Link, SpanContext

MOST_OPEN = 100_000
"""Beginnings that are remembered until their end comes. Runs that went to another process leave theirs behind."""

MOST_CONTENT = 16_384
"""Characters of one text that go into a span."""

EXPORT = 5.0
"""Seconds that a collector may take."""

PROVIDERS = {"openai": "openai", "responses": "openai", "anthropic": "anthropic"}
"""The conventions' names of providers, by the families of models."""

FAILED = {"failed", "model_failed", "context_exhausted", "budget_exceeded", "loop_guard", "limit_reached"}
"""Endings that make a trace a failed one."""

TRACEPARENT = re.compile(r"(?!ff)[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(?:-.*)?")

Attributes = dict[str, Any]


@dataclass
class Open:
    """Something that has begun: when, in milliseconds, and what was known of it then."""

    at: int
    attributes: Attributes = field(default_factory=dict)


class Telemetry:
    """Tells a collector. Make one with `telling`."""

    def __init__(self, processor: "SpanProcessor", resource: "Resource", *, content: bool) -> None:
        self._processor, self._resource, self._content = processor, resource, content
        self._open: OrderedDict[tuple[str, str], Open] = OrderedDict()

    def record(self, run: Run, record: Record) -> None:
        """Tell what a record ends. Never waits."""
        match record.event:
            case RunStarted():
                self._begin(run.id, "run", record.at)
            case StepStarted(step=step, attempt=attempt):
                self._end_step(run, record.at, "reply_incomplete")
                asked = {"zeno.step": step, "zeno.attempt": attempt}
                self._begin(run.id, "step", record.at, asked)
            case ModelReplied():
                self._replied(run, record.event, record.at)
            case ToolStarted(call_id=call_id, effect=effect, step=step):
                begun = self._open.get((run.id, call_id))
                known = begun.attributes if begun else {}
                self._begin(run.id, call_id, record.at, known | {"zeno.effect": effect, "zeno.step": step})
            case ToolFinished():
                self._called(run, record.event, record.at)
            case RunEnded():
                self._ended(run, record.event, record.at)
            case _:
                pass

    def requested(self, run: Run, header: str | None) -> None:
        """Tell that a run was asked for by somebody who has a trace of their own, which `header` (W3C traceparent) names.

        Both traces know of each other then. A header that is none is left alone.
        """
        from opentelemetry.trace import Link

        match = TRACEPARENT.fullmatch((header or "").strip().lower())
        if match is None or not int(match[1], 16) or not int(match[2], 16):
            return
        theirs = _context(match[1], match[2], sampled=bool(int(match[3], 16) & 1), remote=True)
        at = now()
        self._tell(
            run, "create_run", "requested", Open(at), at, {"gen_ai.conversation.id": run.session_id}, links=(Link(theirs),)
        )

    async def close(self) -> None:
        """Tell the rest, for as long as the collector takes it in time."""
        await asyncio.to_thread(self._processor.shutdown)

    def _begin(self, run_id: str, what: str, at: int, attributes: Mapping[str, Any] = {}) -> None:
        self._open[run_id, what] = Open(at, dict(attributes))
        if len(self._open) > MOST_OPEN:
            self._open.popitem(last=False)

    def _taken(self, run_id: str, what: str, at: int) -> Open:
        """What is known of a beginning; one that another process saw is taken to be its end."""
        return self._open.pop((run_id, what), None) or Open(at, {"zeno.begun_elsewhere": True})

    def _replied(self, run: Run, event: ModelReplied, at: int) -> None:
        usage = event.usage
        told: Attributes = {
            "gen_ai.operation.name": "chat",
            "gen_ai.conversation.id": run.session_id,
            "gen_ai.request.model": run.agent.model,
            "gen_ai.response.model": event.model,
            "gen_ai.response.finish_reasons": (event.finish_reason,),
            "gen_ai.usage.input_tokens": usage.input_tokens,
            "gen_ai.usage.output_tokens": usage.output_tokens,
            "gen_ai.usage.cache_read.input_tokens": usage.cached_tokens,
            "gen_ai.usage.reasoning.output_tokens": usage.reasoning_tokens,
        }
        if provider := PROVIDERS.get(run.agent.model.partition(":")[0]):
            told["gen_ai.provider.name"] = provider
        if self._content:
            told["gen_ai.output.messages"] = _shortened(msgspec.json.encode((event.message,)).decode())
            for call in event.message.calls:
                self._begin(run.id, call.id, at, {"gen_ai.tool.call.arguments": _shortened(call.arguments)})
        begun = self._taken(run.id, "step", at)
        self._tell(run, f"chat {run.agent.model}", f"step {event.step} {begun.attributes.get('zeno.attempt')}", begun, at, told)

    def _end_step(self, run: Run, at: int, code: str) -> None:
        """A model was asked and gave no reply."""
        begun = self._open.pop((run.id, "step"), None)
        if begun is not None:
            about = f"step {begun.attributes['zeno.step']} {begun.attributes['zeno.attempt']}"
            told = {"gen_ai.operation.name": "chat", "gen_ai.request.model": run.agent.model}
            self._tell(run, f"chat {run.agent.model}", about, begun, at, told, fault=code)

    def _called(self, run: Run, event: ToolFinished, at: int) -> None:
        result = event.result
        told: Attributes = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": result.name,
            "gen_ai.tool.call.id": result.call_id,
            "gen_ai.tool.type": "function",
            "zeno.outcome": result.outcome,
        }
        if self._content:
            told["gen_ai.tool.call.result"] = _shortened(result.text)
        fault = "" if result.outcome == "done" else event.code or result.outcome
        begun = self._taken(run.id, result.call_id, at)
        self._tell(run, f"execute_tool {result.name}", f"call {result.call_id}", begun, at, told, fault=fault)

    def _ended(self, run: Run, event: RunEnded, at: int) -> None:
        self._end_step(run, at, event.code)
        self._open.pop((run.id, "run"), None)
        told: Attributes = {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.name": run.agent.name,
            "gen_ai.conversation.id": run.session_id,
            "gen_ai.request.model": run.agent.model,
            "zeno.ending": event.ending,
            "zeno.code": event.code,
            "zeno.steps": event.steps,
        }
        if self._content:
            told["gen_ai.input.messages"] = _shortened(run.task)
        fault = event.code or event.ending if event.ending in FAILED else ""
        self._tell(run, f"invoke_agent {run.agent.name}", "", Open(run.created_at), at, told, fault=fault)

    def _tell(
        self,
        run: Run,
        name: str,
        about: str,
        begun: Open,
        at: int,
        attributes: Attributes,
        *,
        fault: str = "",
        links: "tuple[Link, ...]" = (),
    ) -> None:
        """Hand a span on. `about` is what its id follows from, "" for the run itself; `fault` is why it failed."""
        from opentelemetry.sdk.trace import ReadableSpan
        from opentelemetry.sdk.util.instrumentation import InstrumentationScope
        from opentelemetry.trace import SpanKind
        from opentelemetry.trace.status import Status, StatusCode

        whole = _context(run.id, run_span(run.id))
        own = _context(run.id, hashlib.sha256(f"{run.id} {about}".encode()).hexdigest()[:16]) if about else whole
        span = ReadableSpan(
            name=name,
            context=own,
            parent=whole if about else None,
            resource=self._resource,
            attributes=begun.attributes | attributes | ({"error.type": fault} if fault else {}),
            links=links,
            kind=SpanKind.CLIENT if name.startswith("chat ") else SpanKind.INTERNAL,
            status=Status(StatusCode.ERROR, fault) if fault else Status(StatusCode.UNSET),
            start_time=min(begun.at, at) * 1_000_000,
            end_time=at * 1_000_000,
            instrumentation_scope=InstrumentationScope("zeno"),
        )
        self._processor.on_end(span)


def telling(endpoint: str, headers: Mapping[str, str], *, version: str, content: bool) -> Telemetry:
    """Telemetry for the collector at `endpoint` (OTLP over HTTP). Raises `ConfigError` when the library for it is not there.

    With `content` the spans also hold what was said and the arguments and results of calls.
    """
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError:
        raise ConfigError("otel_not_installed") from None
    exporter = OTLPSpanExporter(endpoint=endpoint, headers=dict(headers), timeout=EXPORT)
    own = {"service.name": "zeno", "service.version": version, "service.instance.id": this_process()}
    return Telemetry(BatchSpanProcessor(exporter), Resource.create(own), content=content)


def _context(trace_id: str, span_id: str, *, sampled: bool = True, remote: bool = False) -> "SpanContext":
    from opentelemetry.trace import SpanContext, TraceFlags

    flags = TraceFlags(TraceFlags.SAMPLED if sampled else TraceFlags.DEFAULT)
    return SpanContext(int(trace_id, 16), int(span_id, 16), remote, flags)


def _shortened(text: str) -> str:
    return text if len(text) <= MOST_CONTENT else f"{text[: MOST_CONTENT - 1]}…"
