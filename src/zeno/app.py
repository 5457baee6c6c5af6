"""The house, put together: the only place that knows what is concrete."""

import asyncio
import contextlib
import functools
import shutil
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from zeno import __version__
from zeno.core.agents import AgentSpec
from zeno.core.commands import Cancel, Command, Say
from zeno.core.decisions import Decision
from zeno.core.errors import ConfigError, Conflict, RunLost
from zeno.core.messages import FilePart
from zeno.core.ports import Tool
from zeno.core.scope import Scope
from zeno.core.state import RunState
from zeno.furnishing import models_of, price_of, rules_of, tools_of
from zeno.models.discovery import local_model
from zeno.models.registry import Models
from zeno.private import keep_private
from zeno.runs.bells import Bells, LocalBells
from zeno.runs.clock import new_id, now
from zeno.runs.cost import Price
from zeno.runs.decide import fitting, sparing
from zeno.runs.dispatcher import AsyncioDispatcher, Dispatcher
from zeno.runs.drive import Driver, Tell
from zeno.runs.feed import LiveFeed, MemoryLiveFeed
from zeno.runs.prepare import Preparation, permitted
from zeno.runs.pulse import Pulse
from zeno.runs.retention import Kept, Pruning
from zeno.runs.start import heard, start, taken_along, workspace
from zeno.runs.telemetry import Telemetry, telling
from zeno.runs.webhook import Webhook
from zeno.settings import USUAL_HOME, AgentSettings, Settings
from zeno.stores.accounts import Accounts
from zeno.stores.approvals import Approval, Approvals
from zeno.stores.audit import Audit
from zeno.stores.credentials import Credentials
from zeno.stores.database import Database
from zeno.stores.database import opened as database_opened
from zeno.stores.effects import Effects
from zeno.stores.event_log import EventLog
from zeno.stores.inbox import Inbox
from zeno.stores.jobs import Jobs, libpq_url
from zeno.stores.leases import Leases
from zeno.stores.retention import Retention
from zeno.stores.rules import KeptRule, Rules
from zeno.stores.runs import Run, Runs
from zeno.stores.sessions import Sessions

HOUR = 3_600_000
"""Milliseconds."""

WhenBusy = Literal["queue", "steer", "reject"]
"""What becomes of words for a session in which a run is on."""

USUAL_OPENAI_MODEL = "gpt-5-mini"
USUAL_ANTHROPIC_MODEL = "claude-sonnet-4-5"
"""Asked for when there is a key but no name of a model."""


@dataclass(frozen=True, kw_only=True)
class App:
    """Zeno, open for work. Make one with `opened`."""

    settings: Settings
    sessions: Sessions
    runs: Runs
    log: EventLog
    inbox: Inbox
    approvals: Approvals
    rules: Rules
    audit: Audit
    accounts: Accounts
    credentials: Credentials
    preparation: Preparation
    driver: Driver
    feed: LiveFeed
    bells: Bells
    dispatcher: Dispatcher
    pruning: Pruning
    telemetry: Telemetry | None
    models: Models
    tools: Mapping[str, Tool]
    workspaces: Path
    prices: Mapping[str, Price]
    serving: bool

    async def agent(
        self,
        name: str | None,
        *,
        language: str,
        model: str | None = None,
        max_steps: int | None = None,
        allow_danger: bool = False,
        manual: bool = False,
        on_disconnect: Literal["continue", "cancel"] = "continue",
    ) -> AgentSpec:
        """The agent called `name` (`None`: the default one), with what the caller wants different; `manual` only adds asking.

        Raises `ConfigError` when there is no such agent, model or tool.
        """
        if name is not None and name not in self.settings.agents:
            raise ConfigError("agent_unknown", agent=name, known=", ".join(self.settings.agents) or "-")
        own = self.settings.agents[name] if name is not None else AgentSettings()
        spec = AgentSpec(
            name=name or "default",
            model=model or own.model or self.settings.default_model or await self._best_model(),
            instructions=own.instructions,
            tools=None if own.tools is None else tuple(own.tools),
            max_steps=max_steps or own.max_steps or self.settings.max_steps,
            temperature=self.settings.temperature if own.temperature is None else own.temperature,
            max_output_tokens=self.settings.max_output_tokens,
            effort=own.effort or self.settings.effort,
            language=language,
            allow_danger=allow_danger,
            manual=manual or (own.mode or self.settings.mode) == "manual",
            rules=rules_of(own.rules),
            on_disconnect=on_disconnect,
        )
        permitted(spec, self.tools)
        self.models.client(spec.model)
        return spec

    async def start(
        self,
        scope: Scope,
        agent: AgentSpec,
        text: str,
        files: Sequence[Path] = (),
        session_id: str | None = None,
        *,
        attached: Sequence[FilePart] = (),
        request_key: str | None = None,
        when_busy: WhenBusy = "queue",
    ) -> Run:
        """Make a run, or hand the words to the one that is on: with `steer` it hears them, with `reject` it is a `Conflict`.

        `files` are copied into the session's workspace, `attached` lie there already. Raises `RequestError` for a text or a
        file that cannot be taken.
        """
        session_id = session_id or new_id()
        at_work = await self.runs.due(session_id) if when_busy != "queue" else None
        busy = at_work is not None and at_work[0].scope == scope
        if busy and when_busy == "reject":
            raise Conflict("session_busy", session=session_id)
        parts = (*taken_along(files, workspace(self.workspaces, session_id)), *attached)
        if at_work is not None and busy:
            with contextlib.suppress(Conflict):
                await self.send(scope, at_work[0].id, Say(text, parts))
                return at_work[0]
        run = Run(
            id=new_id(),
            session_id=session_id,
            team_id=scope.team,
            user_id=scope.user,
            task=text,
            agent=agent,
            created_at=now(),
        )
        run = await start(self.runs, run, parts, request_key)
        await self._wake(run.id, run.session_id)
        return run

    async def drive(self, run: Run, tell: Tell) -> RunState:
        """Go on with a run to its end or its next pause. Raises `Conflict` when another process drives it."""
        return await self.driver.drive(run, tell)

    async def send(self, scope: Scope, run_id: str, command: Command) -> None:
        """Leave a command for a run and ring. Raises `NotFound`, or `Conflict` when the run is over."""
        run = await self.runs.find(scope, run_id)
        if isinstance(command, Say):
            heard(command.text)
        await self.inbox.put(run.id, command, now())
        if isinstance(command, Cancel) and await self.runs.queued(run.id):
            # Its turn may be a day away, if the one ahead of it waits for a person.
            with contextlib.suppress(Conflict, RunLost), self.feed.driving(run.id):
                await self.driver.withdraw(run, functools.partial(self.feed.publish, run.id))
        await self._wake(run.id, run.session_id)

    async def decide(
        self,
        scope: Scope | None,
        approval_id: str,
        decision: Decision,
        *,
        admin: bool = False,
        always: Collection[str] | None = None,
    ) -> tuple[Approval, bool]:
        """Decide about a call: the approval as it is then, and whether this was the decision that counted.

        A scope of `None` is for whoever runs the installation. With `always` a rule is kept as well, which spares the next
        question about the same: the arguments named by it may then be anything. Raises `NotFound`, `Invalid` for arguments or
        an answer that do not fit, `Conflict` when it was decided otherwise.
        """
        approval = await self.approvals.find(scope, approval_id, admin=admin)
        decision = fitting(approval, decision, self.tools)
        rule = None if always is None else KeptRule(new_id(), sparing(approval, decision, self.tools, always), now())
        decided, counted = await self.approvals.decide(scope, approval, decision, now=now(), admin=admin, sparing=rule)
        await self._wake(approval.run_id, approval.session_id)
        return decided, counted

    async def delete_session(self, scope: Scope, session_id: str) -> None:
        """Remove a conversation with its runs and files. Raises `NotFound`, or `Conflict` while it is at work."""
        await self.sessions.delete(scope, session_id, now())
        await asyncio.to_thread(shutil.rmtree, workspace(self.workspaces, session_id), ignore_errors=True)

    async def _wake(self, run_id: str, session_id: str) -> None:
        await self.bells.ring(run_id)
        if self.serving:
            await self.dispatcher.wake(run_id, session_id)

    async def _best_model(self) -> str:
        """The best model that nobody had to configure: the environment's, one on this machine, else `offline`."""
        for family, endpoint, usual in (
            ("openai", self.settings.openai, USUAL_OPENAI_MODEL),
            ("anthropic", self.settings.anthropic, USUAL_ANTHROPIC_MODEL),
        ):
            if endpoint.api_key.get_secret_value() or endpoint.base_url:
                return f"{family}:{endpoint.model or usual}"
        return await local_model(self.settings.local_model_ports) or "offline"


@asynccontextmanager
async def opened(settings: Settings, *, serving: bool = False) -> AsyncIterator[App]:
    """The house, open; closed at the end. With `serving` it drives the runs that are to be driven, also those left over.

    Raises `ConfigError` when it cannot be put together.
    """
    await asyncio.to_thread(_make_home, settings.home)
    url = settings.database_url or f"sqlite:///{settings.home / 'zeno.db'}"
    async with database_opened(url) as database, AsyncExitStack() as closing:
        models = models_of(settings, closing, strict=not serving)
        preparation = _preparation(settings, database, models)
        driver = _driver(database, preparation)
        feed, bells = await _live(settings, closing, driver.pulse)
        app = App(
            settings=settings,
            sessions=Sessions(database=database),
            runs=preparation.runs,
            log=driver.log,
            inbox=driver.inbox,
            approvals=driver.approvals,
            rules=preparation.kept_rules,
            audit=Audit(database=database),
            accounts=Accounts(database=database),
            credentials=Credentials(database=database),
            preparation=preparation,
            driver=driver,
            feed=feed,
            bells=bells,
            dispatcher=_dispatcher(settings, database, driver, feed),
            models=models,
            tools=preparation.tools,
            workspaces=preparation.workspaces,
            telemetry=_telemetry(settings, closing, driver),
            pruning=_pruning(settings, database),
            prices={name: price_of(own) for name, own in settings.prices.items()},
            serving=serving,
        )
        if serving:
            if settings.webhook_url:
                secret = settings.webhook_secret.get_secret_value()
                hook = Webhook(url=settings.webhook_url, secret=secret, approvals=app.approvals)
                await closing.enter_async_context(hook.notifying())
            await closing.enter_async_context(app.dispatcher.dispatching())
            if settings.worker:
                await closing.enter_async_context(app.pruning.daily())
        yield app


def _make_home(home: Path) -> None:
    """Make the directories of the house, which nobody else on the machine looks into.

    Who may enter a home that the operator named and made is for the operator to say; that of one user is that user's. Whether
    they can be written to is found out by whoever has to.
    """
    with contextlib.suppress(OSError):
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        if home == Path(USUAL_HOME).expanduser():
            keep_private(home)
        (home / "workspaces").mkdir(exist_ok=True)
    keep_private(home / "workspaces")


def _preparation(settings: Settings, database: Database, models: Models) -> Preparation:
    return Preparation(
        runs=Runs(database=database),
        log=EventLog(database=database),
        kept_rules=Rules(database=database),
        ledger=lambda lease: Effects(database=database, now=now, lease=lease),
        rules=rules_of(settings.rules),
        patience=round(settings.approval_hours * HOUR),
        model=models.client,
        tools=tools_of(settings, models),
        workspaces=settings.home / "workspaces",
    )


def _driver(database: Database, preparation: Preparation) -> Driver:
    leases, inbox = Leases(database=database), Inbox(database=database)
    return Driver(
        leases=leases,
        log=preparation.log,
        inbox=inbox,
        approvals=Approvals(database=database),
        equip=preparation.kit,
        permit=preparation.policy,
        pulse=Pulse(leases=leases, inbox=inbox),
    )


async def _live(settings: Settings, closing: AsyncExitStack, pulse: Pulse) -> tuple[LiveFeed, Bells]:
    """What makes several instances quick: over Redis where there is one, else within this process."""
    if settings.redis_url is None:
        return MemoryLiveFeed(), LocalBells(pulse=pulse)
    from zeno.runs.redis_bells import redis_bells
    from zeno.runs.redis_feed import redis_feed

    url = settings.redis_url.get_secret_value()
    return await closing.enter_async_context(redis_feed(url)), await closing.enter_async_context(redis_bells(url, pulse))


def _dispatcher(settings: Settings, database: Database, driver: Driver, feed: LiveFeed) -> Dispatcher:
    """Many processes share a PostgreSQL; any other database has one process that drives."""
    runs, approvals, most = Runs(database=database), driver.approvals, settings.max_runs
    if (url := libpq_url(settings.database_url)) is None:
        return AsyncioDispatcher(driver=driver, runs=runs, approvals=approvals, feed=feed, most=most)
    from zeno.runs.jobs import ProcrastinateDispatcher

    return ProcrastinateDispatcher(
        driver=driver,
        runs=runs,
        approvals=approvals,
        feed=feed,
        jobs=Jobs(database=database),
        most=most,
        url=url,
        drives=settings.worker,
    )


def _telemetry(settings: Settings, closing: AsyncExitStack, driver: Driver) -> Telemetry | None:
    if settings.otel_endpoint is None:
        return None
    headers = {name: value.get_secret_value() for name, value in settings.otel_headers.items()}
    made = telling(settings.otel_endpoint, headers, version=__version__, content=settings.otel_content)
    closing.push_async_callback(made.close)
    driver.witnesses.append(made.record)
    return made


def _pruning(settings: Settings, database: Database) -> Pruning:
    own = settings.retention
    kept = Kept(sessions=own.runs_days, archived=own.archived_days, audit=own.audit_days, jobs=own.jobs_days)
    return Pruning(retention=Retention(database=database), kept=kept, workspaces=settings.home / "workspaces")
