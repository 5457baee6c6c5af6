"""Retention: once a day what has become old is deleted, rows first and files then, so that a crash leaves nothing but files.

Knows how long things are kept, and nothing of why. Several processes may do this at once: what is gone is gone.
"""

import asyncio
import re
import shutil
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path

import msgspec
import structlog

from zeno.runs.beside import beside
from zeno.runs.clock import now
from zeno.runs.start import workspace
from zeno.stores.retention import AT_ONCE, Old, Retention

DAY = 86_400_000
"""Milliseconds. Directories younger than this are left alone: their conversation may be about to begin."""

FIRST = 600.0
"""Seconds from the start to the first look: a process that begins has better things to do, one that lives short still looks."""

PAUSE = 86_400.0
"""Seconds between two looks."""

_NAME = re.compile(r"[0-9a-f]{32}")

log = structlog.get_logger("zeno.runs")


class Kept(msgspec.Struct, frozen=True, kw_only=True):
    """For how many days things are kept; `None`: for ever.

    `sessions` counts from a conversation's last use, `archived` from when it was put away, `audit` from the entry, `jobs` from
    when a command was left for a run that has taken it.
    """

    sessions: int | None = None
    archived: int | None = None
    audit: int | None = None
    jobs: int | None = None

    def limits(self, at: int) -> Old:
        """What is old at that time, in milliseconds. Logins are of no use once they have expired."""
        unused, archived, noted, absorbed = (
            None if days is None else at - days * DAY for days in (self.sessions, self.archived, self.audit, self.jobs)
        )
        return Old(unused=unused, archived=archived, expired=at, noted=noted, absorbed=absorbed)


class Pruned(msgspec.Struct, frozen=True, kw_only=True):
    """How much was deleted, or would be. `orphans` are directories whose conversation there is not."""

    sessions: int = 0
    runs: int = 0
    logins: int = 0
    audit: int = 0
    inbox: int = 0
    orphans: int = 0


@dataclass(frozen=True, kw_only=True)
class Pruning:
    """Deletes what is kept no longer."""

    retention: Retention
    kept: Kept
    workspaces: Path

    async def prune(self, *, dry_run: bool = False, orphans: bool = True) -> Pruned:
        """Delete what is old, or with `dry_run` count it; with `orphans` also directories that belong to no conversation."""
        old = self.kept.limits(now())
        strays = await self._orphans() if orphans else []
        if dry_run:
            rows = await self.retention.count(old)
            return Pruned(orphans=len(strays), **msgspec.structs.asdict(rows))
        sessions = runs = 0
        while True:
            gone, theirs = await self.retention.delete_sessions(old)
            if not gone:
                break
            sessions, runs = sessions + len(gone), runs + theirs
            for session_id in gone:
                await self._remove(workspace(self.workspaces, session_id))
        rows_of = await self.retention.delete_rows(old)
        for directory in strays:
            await self._remove(directory)
        pruned = Pruned(sessions=sessions, runs=runs, orphans=len(strays), **rows_of)
        log.info("pruned", **msgspec.structs.asdict(pruned))
        return pruned

    def daily(self) -> AbstractAsyncContextManager[None]:
        """Prune once a day until the block is left."""
        return beside(self._prune_on(), "retention")

    async def _prune_on(self) -> None:
        # Without a wish to have conversations deleted no file is: the wrong database would make all of them orphans.
        orphans = self.kept.sessions is not None or self.kept.archived is not None
        await asyncio.sleep(FIRST)
        while True:
            try:
                await self.prune(orphans=orphans)
            except Exception:
                log.exception("prune_failed")
            await asyncio.sleep(PAUSE)

    async def _orphans(self) -> list[Path]:
        """Directories of no conversation. With an empty database there are none: it may be the wrong one."""
        if await self.retention.is_empty():
            return []
        found = await asyncio.to_thread(_directories, self.workspaces, now() - DAY)
        strays: list[Path] = []
        for start in range(0, len(found), AT_ONCE):
            some = found[start : start + AT_ONCE]
            known = await self.retention.known([directory.name for directory in some])
            strays += [directory for directory in some if directory.name not in known]
        return strays

    async def _remove(self, directory: Path) -> None:
        await asyncio.to_thread(shutil.rmtree, directory, ignore_errors=True)


def _directories(workspaces: Path, before: int) -> list[Path]:
    """The directories of conversations that were last changed before a time in milliseconds."""
    if not workspaces.is_dir():
        return []
    named = (path for path in workspaces.iterdir() if _NAME.fullmatch(path.name) and path.is_dir() and not path.is_symlink())
    return [path for path in named if path.stat().st_mtime_ns // 1_000_000 < before]
