"""Runs that cannot be driven any more, because the house has changed since they were asked for: they end, and say why."""

from pathlib import Path
from typing import Any

import pytest

from tests.door import call, calls
from tests.house import furnished, served
from tests.scene import scene
from zeno.app import opened
from zeno.core.scope import LOCAL
from zeno.settings import Settings

pytestmark = pytest.mark.databases

HOLD = '''
@tool(effect="danger")
def post(text: str) -> str:
    """Post. Use in tests.

    Args:
        text: What.
    """
    return "posted"
'''


def furnished_with(tmp_path: Path, **models: Any) -> Settings:
    """A house with a model of its own name."""
    return furnished(tmp_path, [calls(call("post", text="x")), {"text": "Done."}], HOLD, models=models)


@scene
async def test_a_run_whose_model_is_gone_before_it_began_ends(tmp_path: Path) -> None:
    async with opened(
        furnished_with(tmp_path, mine={"family": "openai", "model": "m", "base_url": "http://127.0.0.1:9/v1"})
    ) as app:
        run = await app.start(LOCAL, await app.agent(None, language="en-US", model="mine"), "go")
    async with served(furnished_with(tmp_path)) as house:
        report = await house.settled(run.id, "failed")
        assert report["code"] == "model_unknown"
        assert [event["type"] for event in await house.events(run.id)] == ["user_said", "run_ended"]


@scene
async def test_a_run_whose_tool_is_gone_takes_its_decision_and_ends(tmp_path: Path) -> None:
    replies = [calls(call("post", text="x")), {"text": "Done."}]
    async with served(furnished(tmp_path, replies, HOLD, agents={"clerk": {"tools": ["post"]}})) as house:
        run = await house.run(agent="clerk")
        await house.settled(run, "awaiting_approval")
    async with served(furnished(tmp_path, replies)) as house:
        (approval,) = await house.waiting(run)
        await house.decide(approval["id"], "approve")
        report = await house.settled(run, "failed")
        assert report["code"] == "tool_unknown"
        assert len(await house.of(run, "approval_decided")) == 1
