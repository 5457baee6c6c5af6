"""One writer per conversation: words that come while a run is on wait, steer or are refused, and are never lost or mixed in."""

import asyncio
import itertools
from pathlib import Path

import pytest

from tests.door import call, calls
from tests.house import House, furnished, served
from tests.scene import scene

pytestmark = pytest.mark.databases

GATED = '''
import asyncio
import itertools

@tool(volatile=True)
async def wait_for_gate(name: str, ctx: ToolContext) -> str:
    """Wait until a file is there. Use in tests.

    Args:
        name: Its name.
    """
    (ctx.workspace / f"{name}.waiting").touch()
    while not (ctx.workspace / name).exists():
        await asyncio.sleep(0.01)
    return f"{name} is there"
'''
RECITE = '''
@tool(volatile=True)
def recite(word: str) -> str:
    """Recite. Use in tests.

    Args:
        word: What.
    """
    return word * 50_000
'''
WAITING = calls(call("wait_for_gate", name="gate"))


async def at_gate(house: House, session: str, name: str = "gate") -> Path:
    """The gate of a run that has come to it."""
    gate = house.app.workspaces / session / name
    while not gate.with_name(f"{name}.waiting").exists():
        await asyncio.sleep(0.01)
    return gate


@scene
async def test_a_second_message_waits_its_turn(tmp_path: Path) -> None:
    script = [WAITING, {"text": "One."}, {"text": "Two.", "expect": ["One."]}]
    async with served(furnished(tmp_path, script, GATED)) as house:
        session = await house.session()
        first = await house.say(session, "first")
        gate = await at_gate(house, session)
        second = await house.say(session, "second")
        assert (await house.report(second))["ending"] is None
        assert not await house.events(second)
        gate.touch()
        await house.settled(second, "answered")
        ended = (await house.report(first))["ended_at"]
        assert ended <= (await house.events(second))[0]["at"]


@scene
async def test_long_results_of_two_runs_lie_side_by_side_although_their_calls_have_the_same_id(tmp_path: Path) -> None:
    script = [reply for word in "ab" for reply in (calls({**call("recite", word=word), "id": "call_0"}), {"text": "Done."})]
    async with served(furnished(tmp_path, script, RECITE)) as house:
        session = await house.session()
        for _ in range(2):
            await house.settled(await house.say(session), "answered")
        kept = (house.app.workspaces / session / "results").iterdir()
        assert sorted(path.read_text() for path in kept) == ["a" * 50_000, "b" * 50_000]


@scene
async def test_ten_messages_at_once_are_answered_one_after_the_other(tmp_path: Path) -> None:
    script = [{"text": f"Answer {number}."} for number in range(10)]
    async with served(furnished(tmp_path, script)) as house:
        session = await house.session()
        runs = await asyncio.gather(*(house.say(session, f"message {number}") for number in range(10)))
        spans = []
        for run in runs:
            await house.settled(run, "answered")
            events = await house.events(run)
            spans.append((events[0]["at"], events[-1]["at"]))
        spans.sort()
        assert all(before[1] <= after[0] for before, after in itertools.pairwise(spans))


@scene
async def test_steering_words_are_heard_by_the_run_that_is_on(tmp_path: Path) -> None:
    script = [WAITING, {"text": "In euros, then.", "expect": ["please in euros"]}]
    async with served(furnished(tmp_path, script, GATED)) as house:
        session = await house.session()
        first = await house.say(session, "add it up")
        gate = await at_gate(house, session)
        assert await house.say(session, "please in euros", when_busy="steer") == first
        gate.touch()
        assert (await house.settled(first, "answered"))["answer"] == "In euros, then."
        kinds = [event["type"] for event in await house.events(first)]
        assert kinds.index("tool_finished") < kinds.index("user_said", 2)


@scene
async def test_words_that_come_with_the_last_answer_are_still_heard(tmp_path: Path) -> None:
    script = [{"text": f"Answer {number}."} for number in range(40)]
    async with served(furnished(tmp_path, script)) as house:
        for _ in range(10):
            session = await house.session()
            first = await house.say(session, "one")
            second = await house.say(session, "two", when_busy="steer")
            await house.settled(first, "answered")
            await house.settled(second, "answered")
            said = [event["parts"][0]["text"] for run in {first, second} for event in await house.of(run, "user_said")]
            assert sorted(said) == ["one", "two"]


@scene
async def test_a_busy_conversation_can_refuse(tmp_path: Path) -> None:
    async with served(furnished(tmp_path, [WAITING, {"text": "One."}], GATED)) as house:
        session = await house.session()
        await house.say(session)
        gate = await at_gate(house, session)
        refused = await house.client.post(f"/api/v1/sessions/{session}/runs", json={"text": "x", "when_busy": "reject"})
        assert (refused.status_code, refused.json()["code"]) == (409, "session_busy")
        gate.touch()


@scene
async def test_cancelling_leaves_no_call_without_a_result_and_the_next_message_works(tmp_path: Path) -> None:
    three = calls(*(call("wait_for_gate", name=name) for name in ("a", "b", "c")))
    async with served(furnished(tmp_path, [three, {"text": "Here I am."}], GATED)) as house:
        session = await house.session()
        first = await house.say(session)
        await at_gate(house, session, "c")
        await house.command(first, type="cancel")
        await house.settled(first, "cancelled")
        outcomes = {event["result"]["call_id"]: event["result"]["outcome"] for event in await house.of(first, "tool_finished")}
        assert outcomes == {f"call_1_{number}": "cancelled" for number in (1, 2, 3)}
        second = await house.say(session, "are you there?")
        assert (await house.settled(second, "answered"))["answer"] == "Here I am."


@scene
async def test_cancelling_a_run_that_waits_its_turn_takes_it_out_of_the_queue(tmp_path: Path) -> None:
    async with served(furnished(tmp_path, [WAITING, {"text": "One."}], GATED)) as house:
        session = await house.session()
        first = await house.say(session)
        gate = await at_gate(house, session)
        second = await house.say(session, "second")
        assert (await house.command(second, type="cancel")).status_code == 202
        gate.touch()
        await house.settled(first, "answered")
        await house.settled(second, "cancelled")
        assert not await house.of(second, "model_replied")


@scene
async def test_a_run_that_cannot_be_driven_ends_openly(tmp_path: Path) -> None:
    settings = furnished(tmp_path, [WAITING, {"text": "One."}], GATED)
    async with served(settings) as house:
        session = await house.session()
        run = await house.say(session)
        await at_gate(house, session)
    (tmp_path / "script.jsonl").unlink()
    async with served(settings) as house:
        report = await house.settled(run, "failed")
        assert report["code"] == "script_unreadable"
