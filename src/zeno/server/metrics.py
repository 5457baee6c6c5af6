"""Metrics: what a process has done, counted from the records that it writes, and what there is to be done, asked when read.

Knows records and the house, and nothing of who reads the figures. Names of models and tools become labels, boundedly many.
"""

import asyncio
import threading
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, AbstractContextManager, asynccontextmanager
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

import structlog
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest, make_wsgi_app, start_http_server
from prometheus_client.process_collector import ProcessCollector
from sqlalchemy.exc import SQLAlchemyError
from starlette.types import Scope

from zeno.app import App
from zeno.core.errors import ConfigError, ZenoError
from zeno.core.events import ModelReplied, RunEnded, RunPaused, StepStarted, ToolFinished, ToolStarted
from zeno.core.messages import Usage
from zeno.runs.beside import beside
from zeno.runs.clock import now
from zeno.runs.cost import Price
from zeno.stores.event_log import Record
from zeno.stores.gauges import Gauges, Load
from zeno.stores.runs import Run

MOST_NAMES = 200
"""Names that become labels; what comes later counts as `other`. Every label is a time series that somebody keeps."""

MOST_OPEN = 100_000
"""Beginnings that are remembered until their end comes. Runs that went to another process leave theirs behind."""

ASKING = 2.0
"""Seconds that the database may take to tell its figures."""

TICK = 0.5
"""How often, in seconds, the lag of the event loop is measured."""

LIVE = 3.0
"""Seconds within which the event loop of a process that lives does what it is asked to."""

MODEL_SECONDS = (0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 80, 160, 320, 640)
TOOL_SECONDS = (0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120)
LAG_SECONDS = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5)

SUB_MODEL = "sub-model"
"""Stands for whichever model a tool has asked: its name is in no record."""

log = structlog.get_logger("zeno.metrics")


class Names:
    """The first names that come, up to a bound, and `other` for the rest."""

    def __init__(self, most: int = MOST_NAMES) -> None:
        self._known: set[str] = set()
        self._most = most

    def label(self, name: str) -> str:
        """The name as a label."""
        if name not in self._known:
            if len(self._known) >= self._most:
                return "other"
            self._known.add(name)
        return name


class Counted:
    """The counters that records add to."""

    def __init__(self, registry: CollectorRegistry, prices: Mapping[str, Price]) -> None:
        self._prices = prices
        self._models, self._tools = Names(), Names()
        self._begun: OrderedDict[tuple[str, str], int] = OrderedDict()
        self.runs = Counter("zeno_runs_ended", "Runs that this process brought to an end.", ["ending"], registry=registry)
        self.pauses = Counter("zeno_runs_paused", "Times that a run stopped to wait for a person.", registry=registry)
        self.steps = Histogram(
            "zeno_step_seconds",
            "Time from asking a model to its whole reply.",
            ["model"],
            buckets=MODEL_SECONDS,
            registry=registry,
        )
        self.tools = Histogram(
            "zeno_tool_seconds",
            "Time that calls of tools took.",
            ["tool", "outcome"],
            buckets=TOOL_SECONDS,
            registry=registry,
        )
        self.tokens = Counter("zeno_tokens", "Tokens of models.", ["model", "kind"], registry=registry)
        self.cost = Counter("zeno_cost", "Cost by the prices of the settings, in their currency.", ["model"], registry=registry)

    def record(self, run: Run, record: Record) -> None:
        """Count a record that was written."""
        match record.event:
            case StepStarted():
                self._begin(run.id, "", record.at)
            case ModelReplied(model=model, usage=usage):
                self._spend(model, usage)
                self._end(run.id, "", record.at, self.steps.labels(self._models.label(model)).observe)
            case ToolStarted(call_id=call_id):
                self._begin(run.id, call_id, record.at)
            case ToolFinished(result=result, usage=usage):
                if usage != Usage():
                    self._spend(SUB_MODEL, usage)
                observe = self.tools.labels(self._tools.label(result.name), result.outcome).observe
                self._end(run.id, result.call_id, record.at, observe)
            case RunPaused():
                self.pauses.inc()
            case RunEnded(ending=ending):
                self._begun.pop((run.id, ""), None)
                self.runs.labels(ending).inc()
            case _:
                pass

    def _begin(self, run_id: str, call_id: str, at: int) -> None:
        self._begun[run_id, call_id] = at
        if len(self._begun) > MOST_OPEN:
            self._begun.popitem(last=False)

    def _end(self, run_id: str, call_id: str, at: int, observe: Callable[[float], None]) -> None:
        """Observe how long it took; a call that was closed without having been begun here took no time of ours."""
        began = self._begun.pop((run_id, call_id), None)
        if began is not None:
            # Clocks may go backwards, durations may not.
            observe(max(at - began, 0) / 1000)

    def _spend(self, model: str, usage: Usage) -> None:
        label = self._models.label(model)
        fresh = max(usage.input_tokens - usage.cached_tokens, 0)
        for kind, number in (("input", fresh), ("cached", usage.cached_tokens), ("output", usage.output_tokens)):
            self.tokens.labels(label, kind).inc(number)
        if model in self._prices:
            self.cost.labels(label).inc(self._prices[model].of(usage))


class Metrics:
    """The metrics of one process. Made before it drives anything: it counts from then on."""

    def __init__(self, app: App) -> None:
        self.registry = CollectorRegistry()
        self.installation = CollectorRegistry()
        self.counted = Counted(self.registry, app.prices)
        self._gauges = Gauges(database=app.runs.database)
        ProcessCollector(registry=self.registry)
        self._lag = Histogram(
            "zeno_event_loop_lag_seconds",
            "How late the event loop was with what was due.",
            buckets=LAG_SECONDS,
            registry=self.registry,
        )
        self._gauge("zeno_runs_at_work", "Runs that this process drives.").set_function(lambda: app.driver.pulse.at_work)
        self.followers = self._gauge("zeno_followers", "Streams that follow a run here.")
        self._gauge("zeno_heartbeat_failures", "Heartbeats that failed since the process began.").set_function(
            lambda: app.driver.pulse.failures
        )
        app.driver.witnesses.append(self.counted.record)
        whole = self.installation
        self._up = Gauge("zeno_database_up", "Whether the database told the figures below just now.", registry=whole)
        self._open = Gauge("zeno_installation_runs", "Open runs of the whole installation.", ["state"], registry=whole)
        self._age = Gauge(
            "zeno_installation_queue_age_seconds", "Age of the oldest run that nobody drives and should.", registry=whole
        )
        self._approvals = Gauge("zeno_installation_approvals_waiting", "Calls that wait for a person.", registry=whole)

    async def text(self) -> bytes:
        """Everything in Prometheus's text format, with the figures of the database if it tells them in time."""
        try:
            async with asyncio.timeout(ASKING):
                load = await self._gauges.load(now())
        except (SQLAlchemyError, ZenoError, TimeoutError):
            log.warning("load_unknown", exc_info=True)
            self._tell(None)
        else:
            self._tell(load)
        return generate_latest(self.registry) + generate_latest(self.installation)

    @asynccontextmanager
    async def exposed(self, host: str, port: int) -> AsyncIterator[int]:
        """Tell the figures of this process alone at a port of their own, which is given, to everyone who reaches it.

        `/livez` there says whether its event loop still turns: the port itself is answered by threads, whatever becomes of the
        loop. For a process that answers nobody else. Raises `ConfigError` when the port cannot be had.
        """
        try:
            server, thread = start_http_server(port, host, self.registry)
        except OSError as error:
            raise ConfigError("address_unavailable", host=host, port=port, reason=error.strerror or "") from None
        server.set_app(_with_life(make_wsgi_app(self.registry), asyncio.get_running_loop()))
        try:
            async with self.measuring():
                yield server.server_port
        finally:
            await asyncio.to_thread(server.shutdown)
            server.server_close()
            thread.join()

    def measuring(self) -> AbstractAsyncContextManager[None]:
        """Measure the lag of the event loop until the block is left."""
        return beside(self._measure(), "event loop lag")

    async def _measure(self) -> None:
        clock = asyncio.get_running_loop().time
        while True:
            due = clock() + TICK
            await asyncio.sleep(TICK)
            self._lag.observe(max(clock() - due, 0))

    def _tell(self, load: Load | None) -> None:
        """Set the gauges; figures that are not known are not a number, which no alarm takes for 0."""
        unknown = float("nan")
        self._up.set(load is not None)
        self._open.labels("due").set(load.due if load else unknown)
        self._open.labels("driven").set(load.driven if load else unknown)
        self._open.labels("paused").set(load.paused if load else unknown)
        self._approvals.set(load.approvals if load else unknown)
        age = 0.0 if load is None or load.oldest_due_at is None else max(now() - load.oldest_due_at, 0) / 1000
        self._age.set(age if load else unknown)

    def _gauge(self, name: str, meaning: str) -> Gauge:
        return Gauge(name, meaning, registry=self.registry)


def _with_life(figures: WSGIApplication, loop: asyncio.AbstractEventLoop) -> WSGIApplication:
    """The figures, and at `/livez` 200 or, when the loop does nothing any more, 503."""

    def answered(environ: WSGIEnvironment, start: StartResponse) -> Iterable[bytes]:
        if environ["PATH_INFO"] != "/livez":
            return figures(environ, start)
        turned = threading.Event()
        loop.call_soon_threadsafe(turned.set)
        start("200 OK" if turned.wait(LIVE) else "503 Service Unavailable", [("content-length", "0")])
        return ()

    return answered


def following(request: Scope) -> AbstractContextManager[None]:
    """Count the request among those that follow a run, for the length of the block."""
    metrics: Metrics = request["app"].state.metrics
    return metrics.followers.track_inprogress()
