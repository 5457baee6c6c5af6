"""The pulse of a process: it goes on for a run that begins in the very moment in which another ends."""

import asyncio
from pathlib import Path

from tests.house import furnished
from tests.scene import scene
from zeno.app import opened
from zeno.core.commands import Cancel
from zeno.core.scope import LOCAL
from zeno.runs.clock import now
from zeno.runs.owner import this_process


@scene
async def test_a_run_that_begins_as_another_ends_is_listened_for(tmp_path: Path) -> None:
    async with opened(furnished(tmp_path, [{"text": "Hello."}])) as app:
        agent = await app.agent(None, language="en-US")
        first, second = [await app.start(LOCAL, agent, "go") for _ in range(2)]
        leases = [await app.driver.leases.take(run.id, this_process(), now=now(), duration=10_000) for run in (first, second)]
        with app.driver.pulse.keeping(leases[0]):
            await asyncio.sleep(0)
        with app.driver.pulse.keeping(leases[1]) as beat:
            # Left without a ring, as another process would.
            await app.inbox.put(second.id, Cancel(), now())
            await beat.bell.wait()
