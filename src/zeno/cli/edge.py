"""The edge: from the shell into the house and back, as words and exit codes."""

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager

from zeno.app import App, opened
from zeno.cli.logs import configure_logs
from zeno.core.endings import Ending
from zeno.core.errors import ConfigError, RequestError, ZenoError
from zeno.i18n import catalogue, detect, text
from zeno.settings import Settings, load

Work = Callable[[App, str], Awaitable[int]]
Opening = Callable[[Settings], AbstractAsyncContextManager[App]]

EXIT_CODES: dict[Ending, int] = {
    "answered": 0,
    "asked_user": 10,
    "awaiting_approval": 11,
    "declined": 12,
    "limit_reached": 13,
    "budget_exceeded": 14,
    "loop_guard": 15,
    "context_exhausted": 16,
    "model_failed": 17,
    "failed": 18,
    "cancelled": 130,
}
BAD_REQUEST = 2
BAD_CONFIGURATION = 3


def enter(requested: str | None, work: Work, opening: Opening = opened) -> int:
    """Open the house, do `work` in the language requested (else: of the settings, of the locale), return its exit code.

    `opening` is how it is opened. An error of the caller's or the operator's becomes words on the error stream.
    """
    language = detect(requested, os.environ)
    try:
        settings = load()
        language = detect(requested or settings.language, os.environ)
        configure_logs(settings.log_level)
        return asyncio.run(_inside(settings, language, work, opening))
    except ZenoError as error:
        complain(language, error)
        return BAD_CONFIGURATION if isinstance(error, ConfigError) else BAD_REQUEST if isinstance(error, RequestError) else 1


async def _inside(settings: Settings, language: str, work: Work, opening: Opening) -> int:
    async with opening(settings) as app:
        return await work(app, language)


def complain(language: str, error: ZenoError) -> None:
    """Say on the error stream what is wrong and what to do."""
    key = f"cli.error.{error.code}"
    words = text(language, key, **error.params) if key in catalogue(language) else str(error)
    sys.stderr.write(f"{text(language, 'cli.error_label')}: {words} [{error.code}]\n")


def notice(language: str, key: str, **params: str) -> None:
    """A line beside the output, on the error stream: the output stays clean for programs."""
    from rich.console import Console
    from rich.text import Text

    Console(stderr=True, highlight=False, soft_wrap=True).print(Text(text(language, f"cli.{key}", **params), "dim"))
