"""`zeno doctor --deployment`: whether an installation of several processes has what it needs, and what to do where not.

Run it where a process of the installation will run, with its settings. It changes nothing.
"""

import asyncio
import shutil
import sys
import tempfile
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Literal

import msgspec
import psutil
from rich.console import Console
from rich.table import Table
from rich.text import Text

from zeno.app import App
from zeno.cli.draw import plain
from zeno.cli.edge import enter
from zeno.i18n import text
from zeno.runs.clock import now
from zeno.stores.deployment import clock, newest_driven, server, vector_versions
from zeno.stores.readiness import database_checks

State = Literal["sound", "note", "doubtful", "broken"]

MARKS: Mapping[State, tuple[str, str]] = {
    "sound": ("✓", "green"),
    "note": ("·", "dim"),
    "doubtful": ("!", "yellow"),
    "broken": ("✗", "red"),
}

BROKEN = 4
"""Exit code when something is broken; what is only doubtful does not count."""

PATIENCE = 10.0
"""Seconds that one check may take."""

SKEW = 1_000
"""Milliseconds that a clock may differ from the database's: leases are kept by the clocks of all."""

GIB = 2**30
LITTLE_SPACE, NO_SPACE = GIB, GIB // 16
"""Free bytes below which work will soon stop, and below which it has stopped."""


class Finding(msgspec.Struct, frozen=True):
    """What a check has found. `advice` is the key of what to do about it."""

    state: State
    detail: str = ""
    advice: str = ""


Check = Callable[[], Awaitable[Finding]]


def examine_deployment(requested: str | None, *, as_json: bool) -> int:
    """Check everything, print a table, and return the exit code."""

    async def work(app: App, language: str) -> int:
        findings = {name: await _found(check) for name, check in _checks(app).items()}
        if as_json:
            sys.stdout.write(msgspec.json.encode(findings).decode() + "\n")
        else:
            _print(language, findings)
        return BROKEN if any(finding.state == "broken" for finding in findings.values()) else 0

    return enter(requested, work)


def _checks(app: App) -> dict[str, Check]:
    return {
        "database": lambda: _database(app),
        "schema": lambda: _schema(app),
        "writing": lambda: _writing(app),
        "clock": lambda: _clock(app),
        "redis": lambda: _redis(app),
        "vectors": lambda: _vectors(app),
        "files": lambda: _files(app),
        "sharing": lambda: _sharing(app),
        "space": lambda: _space(app),
    }


async def _found(check: Check) -> Finding:
    try:
        async with asyncio.timeout(PATIENCE):
            return await check()
    except Exception as error:  # noqa: BLE001 - whatever is broken is what is to be told
        return Finding("broken", f"{type(error).__name__}: {error}".partition("\n")[0][:300])


async def _database(app: App) -> Finding:
    found = await app.runs.database.read(server)
    detail = f"{found.kind} {found.version}" + (f", max_connections {found.connections}" if found.connections else "")
    if found.kind == "postgresql":
        return Finding("sound", detail)
    return Finding("doubtful", detail, "not_postgresql")


async def _schema(app: App) -> Finding:
    found = await app.runs.database.read(server)
    return Finding("sound" if found.schema == found.head else "broken", found.schema)


async def _writing(app: App) -> Finding:
    began = now()
    await database_checks(app.runs.database)["write"]()
    return Finding("sound", f"{max(now() - began, 0)} ms")


async def _clock(app: App) -> Finding:
    # The first question may have to open a connection, which would look like a late clock.
    await app.runs.database.read(clock)
    before = now()
    theirs = await app.runs.database.read(clock)
    after = now()
    if theirs is None:
        return Finding("note", "-")
    skew = round((before + after) / 2) - theirs
    late = abs(skew) > SKEW + (after - before)
    return Finding("doubtful" if late else "sound", f"{skew:+} ms", "clock_skew" if late else "")


async def _redis(app: App) -> Finding:
    url = app.settings.redis_url
    if url is None:
        return Finding("note", "-", "no_redis")
    from zeno.runs.redis_link import Link

    link = Link(url.get_secret_value())
    try:
        began = now()
        await link.client.ping()
        took = max(now() - began, 0)
        info = await link.client.info()
    finally:
        await link.close()
    policy, most = str(info.get("maxmemory_policy", "?")), int(info.get("maxmemory", 0))
    detail = f"{info.get('redis_version', '?')}, {took} ms, {policy}, maxmemory {most / GIB:.2f} GiB"
    # What is in it may be thrown away at any time; what it may not do is refuse to take more.
    full = most > 0 and policy == "noeviction"
    return Finding("doubtful" if full else "sound", detail, "redis_refuses" if full else "")


async def _vectors(app: App) -> Finding:
    used, available = await app.runs.database.read(vector_versions)
    return Finding("note", f"pgvector {used or available or '-'}", "" if used else "vector_available" if available else "")


async def _files(app: App) -> Finding:
    await asyncio.to_thread(_write_and_read, app.workspaces)
    return Finding("sound", await asyncio.to_thread(_mount, app.workspaces))


async def _sharing(app: App) -> Finding:
    """Whether the files of runs that others have driven are to be seen here."""
    expected = await app.runs.database.read(newest_driven)
    if not expected:
        return Finding("note", "-")
    there = await asyncio.to_thread(lambda: sum((app.workspaces / name).is_dir() for name in expected))
    whole = there == len(expected)
    return Finding("sound" if whole else "broken", f"{there}/{len(expected)}", "" if whole else "not_shared")


async def _space(app: App) -> Finding:
    free = (await asyncio.to_thread(shutil.disk_usage, app.workspaces)).free
    state: State = "broken" if free < NO_SPACE else "doubtful" if free < LITTLE_SPACE else "sound"
    return Finding(state, f"{free / GIB:.1f} GiB", "" if state == "sound" else "little_space")


def _write_and_read(directory: Path) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=directory) as file:
        file.write(b"zeno")
        file.flush()
        if Path(file.name).read_bytes() != b"zeno":
            raise OSError("what is written is not what is read")


def _mount(directory: Path) -> str:
    """The directory, and the kind of file system it is on."""
    whole = directory.resolve()
    mounts = [part for part in psutil.disk_partitions(all=True) if whole.is_relative_to(part.mountpoint)]
    kind = max(mounts, key=lambda part: len(part.mountpoint)).fstype if mounts else ""
    return f"{whole} ({kind})" if kind else str(whole)


def _print(language: str, findings: Mapping[str, Finding]) -> None:
    table = Table(box=None, pad_edge=False, show_header=False)
    for name, finding in findings.items():
        advice = text(language, f"cli.deployment.{finding.advice}") if finding.advice else ""
        shown = Text(plain(finding.detail)).append(f"  {advice}" if advice else "", MARKS[finding.state][1])
        table.add_row(Text(*MARKS[finding.state]), text(language, f"cli.deployment.{name}"), shown)
    console = Console(highlight=False)
    console.print(table)
    states = {finding.state for finding in findings.values()}
    console.print(text(language, f"cli.deployment.{next((bad for bad in ('broken', 'doubtful') if bad in states), 'sound')}"))
