"""`zeno chat`: a conversation; each message is a run of the same session."""

import asyncio
import sys
from collections.abc import AsyncIterator
from pathlib import Path

from zeno.app import App
from zeno.cli.edge import complain, enter, notice
from zeno.cli.run import delivered, drive_drawn, mentioned
from zeno.core.errors import RequestError
from zeno.core.scope import LOCAL
from zeno.i18n import text
from zeno.runs.clock import new_id


def chat(requested: str | None, *, agent: str | None, model: str | None, files: tuple[Path, ...], allow_danger: bool) -> int:
    """Talk until the input ends."""

    async def work(app: App, language: str) -> int:
        spec = await app.agent(agent, language=language, model=model, allow_danger=allow_danger)
        if spec.model == "offline":
            notice(language, "notice.offline")
        notice(language, "notice.chat")
        session_id, brought = new_id(), files
        async for line in _lines(language):
            if line == "/new":
                session_id = new_id()
                notice(language, "notice.new_session")
                continue
            try:
                files_here = (*brought, *mentioned(language, line, brought))
                run = await app.start(LOCAL, spec, line, files_here, session_id, when_busy="steer")
            except RequestError as error:
                complain(language, error)
                continue
            brought = ()
            state = await drive_drawn(app, run, language)
            delivered(app, run, state, language, None)
        return 0

    return enter(requested, work)


async def _lines(language: str) -> AsyncIterator[str]:
    """What the user types, line by line, until `/exit` or the end of input; empty lines are passed over."""
    prompt = _prompt(language) if sys.stdin.isatty() else None
    while True:
        try:
            line = await prompt() if prompt else await asyncio.to_thread(sys.stdin.readline)
        except (EOFError, KeyboardInterrupt):
            return
        if (not prompt and not line) or line.strip() == "/exit":
            return
        if line.strip():
            yield line.strip()


def _prompt(language: str):  # type: ignore[no-untyped-def]
    from prompt_toolkit import PromptSession

    session: PromptSession[str] = PromptSession(text(language, "cli.draw.prompt"))
    return session.prompt_async
