"""The house, put together: the only place that knows what is concrete."""

import asyncio
import contextlib
import functools
import shutil
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from zeno.core.agents import AgentSpec
from zeno.core.commands import Command, Say
from zeno.core.decisions import Decision
from zeno.core.errors import ConfigError, Conflict
from zeno.core.messages import FilePart
from zeno.core.policy import Rule
from zeno.core.ports import Tool
from zeno.core.scope import Scope
from zeno.core.state import RunState
from zeno.models.discovery import local_model
from zeno.models.profile import Profiles
from zeno.models.registry import Endpoint, ModelChoice, Models
from zeno.models.transport import Timeouts
from zeno.models.writer import written
from zeno.runs.bells import Bells, LocalBells
from zeno.runs.clock import iso, new_id, now
from zeno.runs.cost import Price
from zeno.runs.decide import fitting
from zeno.runs.dispatcher import AsyncioDispatcher, Dispatcher
from zeno.runs.drive import Driver, Tell
from zeno.runs.feed import LiveFeed, MemoryLiveFeed
from zeno.runs.prepare import Preparation, permitted
from zeno.runs.pulse import Pulse
from zeno.runs.start import heard, start, taken_along, workspace
from zeno.runs.webhook import Webhook
from zeno.settings import AgentSettings, EndpointSettings, MailSettings, ModelSettings, PriceSettings, RuleSettings, Settings
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
from zeno.stores.rules import Rules
from zeno.stores.runs import Run, Runs
from zeno.stores.sessions import Sessions
from zeno.tools.builtin.generate import generate_text_tool
from zeno.tools.builtin.mail import MailServer
from zeno.tools.catalog import Surroundings, toolset
from zeno.tools.guards import guarded

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
        manual: bool | None = None,
        on_disconnect: Literal["continue", "cancel"] = "continue",
    ) -> AgentSpec:
        """The agent called `name` (`None`: the default one), with what the caller wants different.

        Raises `ConfigError` when there is no such agent, model or tool.
        """
        if name is not None and name not in self.settings.agents:
            raise ConfigError("agent_unknown", agent=name, known=", ".join(self.settings.agents) or "-")
        own = self.settings.agents[name] if name is not None else AgentSettings()
        spec = AgentSpec(
            name=name or "default",
            model=model or own.model or self.settings.model or await self._best_model(),
            instructions=own.instructions,
            tools=None if own.tools is None else tuple(own.tools),
            max_steps=max_steps or own.max_steps or self.settings.max_steps,
            temperature=self.settings.temperature if own.temperature is None else own.temperature,
            max_output_tokens=self.settings.max_output_tokens,
            effort=own.effort or self.settings.effort,
            language=language,
            allow_danger=allow_danger,
            manual=(own.mode or self.settings.mode) == "manual" if manual is None else manual,
            rules=_rules(own.rules),
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
        if at_work and at_work[0].scope == scope:
            if when_busy == "reject":
                raise Conflict("session_busy", session=session_id)
            parts = (*taken_along(files, workspace(self.workspaces, session_id)), *attached)
            with contextlib.suppress(Conflict):
                await self.send(scope, at_work[0].id, Say(text, parts))
                return at_work[0]
        parts = (*taken_along(files, workspace(self.workspaces, session_id)), *attached)
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
        await self._wake(run.id, run.session_id)

    async def decide(self, scope: Scope, approval_id: str, decision: Decision, *, admin: bool = False) -> tuple[Approval, bool]:
        """Decide about a call: the approval as it is then, and whether this was the decision that counted.

        Raises `NotFound`, `Invalid` for arguments or an answer that do not fit, `Conflict` when it was decided otherwise.
        """
        approval = await self.approvals.find(scope, approval_id, admin=admin)
        decision = fitting(approval, decision, self.tools)
        decided, counted = await self.approvals.decide(scope, approval_id, decision, now=now(), admin=admin)
        if counted:
            kind = str(type(decision).__struct_config__.tag)
            await self.audit.write(
                scope, "decide", approval.tool, at=now(), decision=approval_id, result=kind, run_id=approval.run_id
            )
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
    url = settings.database_url or f"sqlite:///{settings.home / 'zeno.db'}"
    async with database_opened(url) as database, AsyncExitStack() as closing:
        models = _models(settings, closing, strict=not serving)
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
            prices={name: _price(own) for name, own in settings.prices.items()},
            serving=serving,
        )
        if serving:
            if settings.webhook_url:
                secret = settings.webhook_secret.get_secret_value()
                hook = Webhook(url=settings.webhook_url, secret=secret, approvals=app.approvals)
                await closing.enter_async_context(hook.notifying())
            await closing.enter_async_context(app.dispatcher.dispatching())
        yield app


def _preparation(settings: Settings, database: Database, models: Models) -> Preparation:
    return Preparation(
        runs=Runs(database=database),
        log=EventLog(database=database),
        kept_rules=Rules(database=database),
        ledger=Effects(database=database, now=now),
        rules=_rules(settings.rules),
        patience=round(settings.approval_hours * HOUR),
        model=models.client,
        tools=_tools(settings, models),
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


def _rules(own: Sequence[RuleSettings]) -> tuple[Rule, ...]:
    return tuple(Rule(rule.verdict, rule.tool, rule.arguments, rule.approver) for rule in own)


def _price(own: PriceSettings) -> Price:
    return Price(own.input, own.output, own.input if own.cached is None else own.cached)


def _models(settings: Settings, closing: AsyncExitStack, *, strict: bool) -> Models:
    openai, anthropic = _endpoint(settings.openai), _endpoint(settings.anthropic)
    configured = {"openai": openai, "responses": openai, "anthropic": anthropic}
    return Models(
        closing=closing,
        strict=strict,
        endpoints=configured,
        choices={name: _choice(own, configured[own.family]) for name, own in settings.models.items()},
        profiles=Profiles(settings.home / "profiles.json"),
    )


def _endpoint(own: EndpointSettings) -> Endpoint:
    return Endpoint(base_url=own.base_url or "", api_key=own.api_key.get_secret_value())


def _choice(own: ModelSettings, configured: Endpoint) -> ModelChoice:
    key = own.api_key.get_secret_value() if own.api_key else ""
    # The family's key is for the family's endpoint; another address needs a key of its own.
    elsewhere = own.base_url and own.base_url.rstrip("/") != configured.base_url.rstrip("/")
    return ModelChoice(
        family=own.family,
        model=own.model,
        endpoint=Endpoint(
            base_url=own.base_url or configured.base_url, api_key=key or ("" if elsewhere else configured.api_key)
        ),
        protocol=own.protocol,
        timeouts=Timeouts(
            connect=own.connect_timeout, first=own.first_timeout, between=own.between_timeout, total=own.total_timeout
        ),
        fallback=tuple(own.fallback),
    )


def _mail(own: MailSettings) -> MailServer:
    return MailServer(**own.model_dump(exclude={"password"}), password=own.password.get_secret_value())


def _tools(settings: Settings, models: Models) -> dict[str, Tool]:
    own = settings.tools
    surroundings = Surroundings(
        weather_forecast_url=own.weather_forecast_url,
        weather_geocoding_url=own.weather_geocoding_url,
        dns_nameservers=own.dns_nameservers,
        dns_port=own.dns_port,
        now=now,
        http_allowed=own.http_allowed,
        databases={name: url.get_secret_value() for name, url in own.databases.items()},
        mail=_mail(own.mail) if own.mail else None,
    )
    tools = toolset(surroundings, own.modules)
    if settings.text_model:
        writer = generate_text_tool(functools.partial(written, models.client(settings.text_model)))
        tools[writer.spec.name] = writer
    return {
        name: guarded(tool, seconds=own.timeout, characters=own.result_characters, now=lambda: iso(now()))
        for name, tool in tools.items()
    }
