"""Effects happen once: in a run, after a crash, when a model repeats itself, and when nobody can tell."""

import asyncio
from pathlib import Path

import pytest
from sqlalchemy import create_engine, make_url, text

from tests.door import call, calls
from tests.house import House, furnished, served
from tests.scene import scene
from zeno.core.events import ToolStarted
from zeno.stores.event_log import Record
from zeno.stores.runs import Run

pytestmark = pytest.mark.databases

TOOLS = '''
import asyncio

def note(ctx, word):
    with (ctx.workspace / "notes").open("a") as book:
        book.write(word + "\\n")


@tool(effect="write")
async def post(text: str, ctx: ToolContext) -> str:
    """Post a text. Use in tests.

    Args:
        text: The text.
    """
    note(ctx, text)
    return f"posted {text}"


@tool(effect="write", key=("invoice",), once_per="session")
async def pay(invoice: str, comment: str, ctx: ToolContext) -> str:
    """Pay an invoice. Use in tests.

    Args:
        invoice: Its number.
        comment: Anything.
    """
    note(ctx, f"paid {invoice}")
    return f"paid {invoice}"


@tool(effect="write", timeout=0.05)
async def post_slowly(text: str, ctx: ToolContext) -> str:
    """Post a text and hear nothing back. Use in tests.

    Args:
        text: The text.
    """
    note(ctx, text)
    await asyncio.Event().wait()


@tool(effect="write", timeout=0.05)
async def file_away(text: str, ctx: ToolContext) -> str:
    """Keep a text and hear nothing back the first time. Use in tests.

    Args:
        text: The text.
    """
    note(ctx, text)
    await asyncio.Event().wait()


@file_away.verified_by
async def kept(arguments, ctx):
    from zeno.core.ports import ToolOutput

    there = arguments["text"] in (ctx.workspace / "notes").read_text().split()
    return ToolOutput("it is kept") if there else None


@tool(effect="write")
async def refuse(text: str, ctx: ToolContext) -> str:
    """Refuse the first time. Use in tests.

    Args:
        text: The text.
    """
    from zeno.core.errors import ToolFailed

    note(ctx, text)
    if (ctx.workspace / "notes").read_text().split().count(text) == 1:
        raise ToolFailed("not now")
    return "accepted"


@tool(effect="write")
async def stumble(text: str, ctx: ToolContext) -> str:
    """Break after it was done. Use in tests.

    Args:
        text: The text.
    """
    note(ctx, text)
    raise ValueError("lost the thread")


@tool()
async def look(place: str, ctx: ToolContext) -> str:
    """Look. Use in tests.

    Args:
        place: Where.
    """
    note(ctx, f"looked-{place}")
    return f"saw {place}"
'''


def notes(house: House) -> list[str]:
    """What was really done."""
    return [line for book in house.home.rglob("notes") for line in book.read_text().splitlines()]


async def outcomes(house: House, run: str) -> list[tuple[str, str]]:
    """What the run says of its calls: outcome and code."""
    return [(event["result"]["outcome"], event["code"]) for event in await house.of(run, "tool_finished")]


@scene
async def test_the_same_write_again_is_answered_with_its_first_result(tmp_path: Path) -> None:
    script = [
        calls(call("post", text="hello"), {"name": "post", "arguments": '{ "text" : "hello" }', "id": "minted-anew"}),
        {"text": "Done.", "expect": ["already done", "posted hello"]},
    ]
    async with served(furnished(tmp_path, script, TOOLS)) as house:
        run = await house.run()
        await house.settled(run, "answered")
        assert notes(house) == ["hello"]
        assert await outcomes(house, run) == [("done", ""), ("done", "already_done")]


@scene
async def test_another_run_may_do_the_same_but_what_is_once_per_session_stays_done(tmp_path: Path) -> None:
    first = calls(call("post", text="hello"), call("pay", invoice="7", comment="x"))
    second = calls(call("post", text="hello"), call("pay", invoice="7", comment="other words"))
    async with served(furnished(tmp_path, [first, {"text": "One."}, second, {"text": "Two."}], TOOLS)) as house:
        session = await house.session()
        for _ in range(2):
            await house.settled(await house.say(session), "answered")
        assert notes(house) == ["hello", "paid 7", "hello"]


@scene
async def test_a_time_out_after_it_began_is_unknown_and_only_a_person_has_it_tried_again(tmp_path: Path) -> None:
    script = [calls(call("post_slowly", text="x")), calls(call("post_slowly", text="x")), {"text": "Open."}]
    async with served(furnished(tmp_path, script, TOOLS)) as house:
        run = await house.run()
        await house.settled(run, "awaiting_approval")
        assert (await outcomes(house, run), notes(house)) == ([("unknown", "tool_timeout")], ["x"])
        (approval,) = await house.waiting(run)
        assert approval["cause"] == "unknown_before"
        await house.decide(approval["id"], "approve")
        await house.settled(run, "answered")
        assert notes(house) == ["x", "x"]


@scene
async def test_without_consent_what_is_unknown_is_not_tried_again(tmp_path: Path) -> None:
    script = [calls(call("stumble", text="x")), calls(call("stumble", text="x")), {"text": "Open."}]
    async with served(furnished(tmp_path, script, TOOLS)) as house:
        run = await house.run()
        await house.settled(run, "awaiting_approval")
        (approval,) = await house.waiting(run)
        await house.decide(approval["id"], "deny")
        await house.settled(run, "answered")
        assert notes(house) == ["x"]
        assert [outcome for outcome, _ in await outcomes(house, run)] == ["unknown", "rejected"]


@scene
async def test_a_tool_that_says_it_failed_may_be_tried_again(tmp_path: Path) -> None:
    script = [calls(call("refuse", text="x")), calls(call("refuse", text="x")), {"text": "Done."}]
    async with served(furnished(tmp_path, script, TOOLS)) as house:
        run = await house.run()
        await house.settled(run, "answered")
        assert [outcome for outcome, _ in await outcomes(house, run)] == ["failed", "done"]


@scene
async def test_a_failed_model_call_does_not_repeat_the_effect_before_it(tmp_path: Path) -> None:
    script = [calls(call("post", text="x")), {"fails": "model_unreachable"}]
    async with served(furnished(tmp_path, script, TOOLS)) as house:
        run = await house.run()
        await house.settled(run, "model_failed")
        assert notes(house) == ["x"]


@scene
async def test_a_verifier_finds_out_what_nobody_heard(tmp_path: Path) -> None:
    script = [calls(call("file_away", text="x")), {"text": "Kept.", "expect": ["it is kept"]}]
    async with served(furnished(tmp_path, script, TOOLS)) as house:
        run = await house.run()
        await house.settled(run, "answered")
        assert await outcomes(house, run) == [("done", "verified")]


@scene
async def test_reads_are_reused_until_something_changes(tmp_path: Path) -> None:
    look = calls(call("look", place="a"))
    script = [look, look, calls(call("post", text="p")), look, {"text": "Done."}]
    async with served(furnished(tmp_path, script, TOOLS)) as house:
        run = await house.run()
        await house.settled(run, "answered")
        assert notes(house) == ["looked-a", "p", "looked-a"]
        assert [code for _, code in await outcomes(house, run)] == ["", "cached", "", ""]


@scene
async def test_stopping_the_house_in_the_middle_of_a_write_lets_it_finish(tmp_path: Path) -> None:
    tools = (
        TOOLS
        + '''
@tool(effect="write")
async def take_long(text: str, ctx: ToolContext) -> str:
    """Take long. Use in tests.

    Args:
        text: The text.
    """
    (ctx.workspace / "begun").touch()
    await asyncio.sleep(0.3)
    note(ctx, text)
    return "done at last"
'''
    )
    settings = furnished(tmp_path, [calls(call("take_long", text="x")), {"text": "Done."}], tools)
    async with served(settings) as house:
        run = await house.run()
        while not list(tmp_path.rglob("begun")):
            await asyncio.sleep(0.01)
    async with served(settings) as house:
        await house.settled(run, "answered")
        assert notes(house) == ["x"]
        assert await outcomes(house, run) == [("done", "")]


@pytest.mark.one_instance
@scene
async def test_a_driver_that_lost_its_run_between_saying_and_doing_does_nothing(tmp_path: Path) -> None:
    settings = furnished(tmp_path, [calls(call("post", text="x")), {"text": "Done."}], TOOLS)
    url = make_url(settings.database_url or f"sqlite:///{settings.home / 'zeno.db'}")
    driver = {"postgresql": "postgresql+psycopg", "mariadb": "mysql+pymysql", "mysql": "mysql+pymysql"}.get(
        url.get_backend_name(), "sqlite"
    )
    engine = create_engine(url.set(drivername=driver))

    def lease(owner: str | None, until: int, *, taken: int) -> None:
        with engine.begin() as connection:
            values = {"owner": owner, "until": until, "taken": taken}
            connection.execute(
                text("update runs set lease_owner = :owner, lease_until = :until, epoch = epoch + :taken"), values
            )

    async with served(settings) as house:

        def take_over(_run: Run, record: Record) -> None:
            if isinstance(record.event, ToolStarted) and len(lost) == 0:
                lost.append(record)
                lease("another driver", 2**50, taken=1)

        lost: list[Record] = []
        house.app.driver.witnesses.append(take_over)
        run = await house.run()
        while not lost or [task for task in asyncio.all_tasks() if task.get_name().startswith("session ")]:
            await asyncio.sleep(0.01)
        assert not notes(house)
        # The other one dies too, without having done anything.
        lease(None, 0, taken=0)
        await house.settled(run, "answered")
        assert notes(house) == ["x"]
    engine.dispose()
