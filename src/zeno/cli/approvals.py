"""`zeno approvals`, `approve`, `deny` and `answer`: what waits for a person's word, and the word.

They are for whoever runs the installation, who may give it in place of any of its users.
"""

import asyncio
import sys
from collections.abc import Sequence

import msgspec
from rich.console import Console
from rich.table import Table
from rich.text import Text

from zeno.app import App
from zeno.cli.draw import plain, taken_over
from zeno.cli.edge import complain, enter, notice
from zeno.core.decisions import Answered, Approved, Decision, Denied, Edited
from zeno.core.errors import Invalid, NotFound, RequestError
from zeno.core.ports import Answer
from zeno.core.scope import LOCAL
from zeno.i18n import text
from zeno.runs.clock import now
from zeno.stores.approvals import Approval
from zeno.stores.runs import Run


def show_approvals(requested: str | None, *, as_json: bool) -> int:
    """List what waits for a decision."""

    async def work(app: App, language: str) -> int:
        await app.approvals.expire(now())
        waiting = await app.approvals.listed(None)
        owners = await _owners(app, waiting)
        if as_json:
            told = [msgspec.to_builtins(each) | dict(zip(("user", "team"), owners[each.id], strict=True)) for each in waiting]
            sys.stdout.write(msgspec.json.encode(told).decode() + "\n")
            return 0
        table = Table(box=None, pad_edge=False)
        named = app.settings.server.auth == "team"
        for column in ("approval", *(("user", "team") if named else ()), "tool", "arguments", "cause", "hours"):
            table.add_column(text(language, f"cli.column.{column}"), overflow="fold")
        for approval in waiting:
            hours = f"{max(approval.expires_at - now(), 0) / 3_600_000:.1f}"
            cause = Text(text(language, f"cli.cause_of_asking.{approval.cause}"))
            if approval.passage is not None:
                cause.append("\n").append_text(taken_over(language, approval.passage))
            owner = (Text(name) for name in owners[approval.id] if named)
            table.add_row(_short(approval), *owner, approval.tool, Text(plain(approval.arguments)), cause, hours)
        Console().print(table)
        return 0

    return enter(requested, work)


def decide(requested: str | None, approval_id: str, decision: Decision) -> int:
    """Give a decision, then go on with the run here, unless a server does. A user's with an account is the server's."""

    async def work(app: App, language: str) -> int:
        from zeno.cli.edge import EXIT_CODES
        from zeno.cli.run import delivered, drive_drawn

        approval = await _found(app, approval_id)
        await app.decide(None, approval.id, decision)
        run = await app.runs.find(None, approval.run_id)
        if run.scope != LOCAL:
            (user, team) = (await _owners(app, [approval]))[approval.id]
            notice(language, "notice.decided", user=user, team=team)
            return 0
        state = await drive_drawn(app, run, language)
        delivered(app, run, state, language, None)
        return EXIT_CODES[state.ending or "failed"]

    return enter(requested, work)


def edited(arguments: str | None, reason: str) -> Decision:
    """The decision of `zeno approve`: as it is, or with other arguments."""
    return Edited(arguments, reason) if arguments is not None else Approved()


async def decided_here(app: App, run: Run, language: str) -> bool:
    """Ask on the terminal about everything a run waits for; whether anything was decided."""
    some = False
    for approval in await app.approvals.listed(LOCAL, admin=True, run_id=run.id):
        decision = await _asked(app, language, approval)
        while decision is not None:
            try:
                await app.decide(LOCAL, approval.id, decision, admin=True)
                some = True
                break
            except Invalid as error:
                complain(language, error)
                decision = await _asked(app, language, approval)
            except RequestError as error:
                complain(language, error)
                break
    return some


async def _asked(app: App, language: str, approval: Approval) -> Decision | None:
    """One decision from the keyboard, `None` when it is left for later."""
    if approval.kind == "question":
        return await _answered(language, approval)
    notice(language, "ask.call", tool=approval.tool, arguments=plain(approval.arguments))
    match (await _typed(language, "ask.choice")).lower():
        case "y" | "yes" | "是":
            return Approved()
        case "e" | "edit" | "改":
            return Edited(await _typed(language, "ask.arguments"), await _typed(language, "ask.reason"))
        case "n" | "no" | "否":
            return Denied(await _typed(language, "ask.reason"))
        case _:
            return None


async def _answered(language: str, approval: Approval) -> Decision | None:
    asked = msgspec.json.decode(approval.arguments)
    options = [str(option) for option in asked.get("options") or ()]
    notice(language, "ask.question", question=plain(str(asked.get("question", ""))))
    if asked.get("preview"):
        notice(language, "ask.preview", preview=plain(str(asked["preview"])))
    for number, option in enumerate(options, 1):
        notice(language, "ask.option", number=str(number), option=plain(option))
    words = await _typed(language, "ask.answer")
    if not words and asked.get("form") != "preview":
        return None
    numbers = words.replace(",", " ").replace("，", " ").split()
    if options and all(number.isdigit() and 1 <= int(number) <= len(options) for number in numbers):
        return Answered(Answer(choices=tuple(options[int(number) - 1] for number in numbers)))
    return Answered(Answer(text=words))


async def _typed(language: str, key: str) -> str:
    Console(stderr=True, highlight=False).print(Text(text(language, f"cli.{key}"), "bold"), end=" ")
    line: str = await asyncio.to_thread(sys.stdin.readline)
    return line.strip()


async def _found(app: App, wanted: str) -> Approval:
    """The approval of that id; of a run's id the beginning is enough, and without a number it is the run's only one."""
    prefix, _, number = wanted.partition(".")
    run = await app.runs.find(None, prefix)
    if number:
        return await app.approvals.find(None, f"{run.id}.{number}")
    waiting = await app.approvals.listed(None, run_id=run.id)
    if len(waiting) != 1:
        raise NotFound("approval_not_found", approval=wanted)
    return waiting[0]


async def _owners(app: App, waiting: Sequence[Approval]) -> dict[str, tuple[str, str]]:
    """By the ids of approvals, the names of the user who waits and of their team; without accounts `local`."""
    users = {member.user.id: member.user.name for member in await app.accounts.members(None)}
    teams = {team.id: team.name for team in await app.accounts.teams(None)}
    owners = {approval.id: (await app.runs.find(None, approval.run_id)).scope for approval in waiting}
    return {own: (users.get(scope.user, scope.user), teams.get(scope.team, scope.team)) for own, scope in owners.items()}


def _short(approval: Approval) -> str:
    run_id, _, number = approval.id.partition(".")
    return f"{run_id[:12]}.{number}"
