"""Health: whether the process is up, whether it can do its work, and which version it is."""

import asyncio
import math
import shutil
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Literal

import msgspec
import structlog
from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from zeno import __version__
from zeno.app import App
from zeno.server.answers import House, answer, described
from zeno.stores.readiness import database_checks

LEAST_SPACE = 64 * 1024 * 1024
"""Free bytes below which no work is taken."""

CHECK = 5.0
"""Seconds that one check may take."""

KEPT = 1.0
"""Seconds that what was found out is told again. Anyone may ask, and the checks write to the database."""

router = APIRouter(tags=["health"])

log = structlog.get_logger("zeno.server")


class Alive(msgspec.Struct, frozen=True):
    """The process answers."""

    alive: bool


class Readiness(msgspec.Struct, frozen=True):
    """Whether work can be done; `failed` names the checks that say no."""

    ready: bool
    failed: tuple[str, ...]


class Version(msgspec.Struct, frozen=True):
    """Which version this is, of Zeno and of its API, and how one logs in."""

    version: str
    api: str
    mode: Literal["local", "team"]


class SpaceShort(Exception):
    """There is hardly any room left where files are kept."""


class Trials:
    """What is wrong with a house. However many ask, it is found out once at a time and told for a moment."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._alone = asyncio.Lock()
        self._failed: tuple[str, ...] = ()
        self._kept_until = -math.inf

    async def failed(self) -> tuple[str, ...]:
        """The names of the checks that say no."""
        clock = asyncio.get_running_loop().time
        async with self._alone:
            if clock() >= self._kept_until:
                self._failed = await self._found_out()
                self._kept_until = clock() + KEPT
            return self._failed

    async def _found_out(self) -> tuple[str, ...]:
        checks: dict[str, Callable[[], Awaitable[None]]] = {
            **{f"database_{name}": check for name, check in database_checks(self._app.runs.database).items()},
            "workspace": lambda: asyncio.to_thread(_writable, self._app.workspaces),
        }
        passed = await asyncio.gather(*(_passes(name, check) for name, check in checks.items()))
        return tuple(name for name, good in zip(checks, passed, strict=True) if not good)


_READY = described(Readiness, "Ask whether it can work", example=Readiness(True, ()), public=True)
_READY["responses"][503] = _READY["responses"][200] | {"description": "It cannot; `failed` says why."}


@router.head("/livez", include_in_schema=False)
@router.get("/livez", **described(Alive, "Ask whether it is up", example=Alive(True), public=True))
async def alive() -> Response:
    """Says yes as long as it can say anything."""
    return answer(Alive(True))


@router.head("/readyz", include_in_schema=False)
@router.get("/readyz", **_READY)
async def ready(request: Request) -> Response:
    """Reads and writes the database, compares its schema, writes a file. What is wrong in detail stands in the log.

    What was found out within the last second is told again.
    """
    trials: Trials = request.app.state.trials
    failed = await trials.failed()
    return answer(Readiness(not failed, failed), 503 if failed else 200)


@router.get(
    "/api/v1/version", **described(Version, "Show the version", example=Version(__version__, "v1", "local"), public=True)
)
async def version(app: House) -> Response:
    """Asked by pages before anyone has logged in."""
    return answer(Version(__version__, "v1", app.settings.server.auth))


async def _passes(name: str, check: Callable[[], Awaitable[None]]) -> bool:
    try:
        async with asyncio.timeout(CHECK):
            await check()
    except Exception:
        log.warning("not_ready", check=name, exc_info=True)
        return False
    return True


def _writable(directory: Path) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    if shutil.disk_usage(directory).free < LEAST_SPACE:
        raise SpaceShort
    with tempfile.TemporaryFile(dir=directory) as file:
        file.write(b"x")
