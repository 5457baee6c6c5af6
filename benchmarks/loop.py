"""What the loop costs: CPU microseconds per step (one model call and one tool call that do nothing), beside a bare hand loop.

Three rows in one run: a loop written by hand with dictionaries, Zeno's loop with nothing kept, and its whole drive with the
log in SQLite. Ratios travel between machines, microseconds do not.
"""

import asyncio
import json
import tempfile
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from pathlib import Path
from typing import Any

from zeno.app import opened
from zeno.core import loop
from zeno.core.events import UserSaid
from zeno.core.kit import Kit
from zeno.core.messages import Message, TextPart, ToolCall
from zeno.core.policy import Policy
from zeno.core.ports import Delta, ModelRequest, Reply, ToolContext, ToolOutput, ToolSpec
from zeno.core.scope import LOCAL
from zeno.core.state import fold
from zeno.settings import load
from zeno.stores.memory import MemoryEffects
from zeno.tools.guards import guarded

STEPS = 30
REPEATS = 20
SPEC = ToolSpec("noop", "Use it.", {"type": "object", "properties": {}, "required": []})


class Noop:
    """A tool that does nothing."""

    spec = SPEC

    def check(self, args: dict[str, Any]) -> None:
        """Take anything."""

    async def call(self, args: dict[str, Any], ctx: ToolContext) -> ToolOutput:
        """Do nothing."""
        return ToolOutput("ok")

    async def verify(self, args: dict[str, Any], ctx: ToolContext) -> ToolOutput | None:
        """Nothing was done."""


class Model:
    """Calls the tool until the messages hold enough results, then answers."""

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Delta | Reply, None]:
        """The next reply, at once."""
        replied = sum(message.role == "assistant" for message in request.messages)
        if replied >= STEPS:
            yield Reply(Message("assistant", (TextPart("done"),)))
        else:
            yield Reply(Message("assistant", (ToolCall(f"c{replied}", "noop", f'{{"n": {replied}}}'),)))


async def bare() -> None:
    """The loop as one would write it by hand for one purpose."""

    async def model(messages: list[dict[str, Any]]) -> dict[str, Any]:
        replied = sum(message["role"] == "assistant" for message in messages)
        if replied >= STEPS:
            return {"role": "assistant", "content": "done"}
        return {"role": "assistant", "tool_calls": [{"id": f"c{replied}", "name": "noop", "arguments": "{}"}]}

    async def noop() -> str:
        return "ok"

    messages: list[dict[str, Any]] = [{"role": "user", "content": "go"}]
    while True:
        reply = await model(messages)
        messages.append(reply)
        if not reply.get("tool_calls"):
            return
        results = await asyncio.gather(*(noop(**json.loads(call["arguments"])) for call in reply["tool_calls"]))
        for call, result in zip(reply["tool_calls"], results, strict=True):
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": result})


def kit() -> Kit:
    """A kit with the model and the tool that do nothing, the tool in all its guards."""
    tool = guarded(Noop(), seconds=15, characters=20_000, now=lambda: "now")
    policy = Policy(STEPS + 1, {"noop": SPEC})
    return Kit(
        run_id="0" * 32,
        session_id="0" * 32,
        ledger=MemoryEffects(),
        model=Model(),
        tools={"noop": tool},
        policy=policy,
        workspace=Path(),
        instructions="",
        today="",
        language="",
    )


async def in_memory() -> None:
    """Zeno's loop, its events thrown away."""
    async for _ in loop.run(fold([UserSaid((TextPart("go"),))]), kit()):
        pass


async def measured(work: Callable[[], Awaitable[None]], repeats: int = REPEATS) -> float:
    """CPU microseconds per step, best of three batches."""
    await work()
    best = float("inf")
    for _ in range(3):
        began = time.process_time()
        for _ in range(repeats):
            await work()
        best = min(best, time.process_time() - began)
    return best / repeats / STEPS * 1e6


async def logged(home: str) -> float:
    """CPU microseconds per step of the whole drive, the log in SQLite."""
    async with opened(load(home=home)) as app:
        app.models.clients["noop"] = Model()
        app.tools["noop"] = guarded(Noop(), seconds=15, characters=20_000, now=lambda: "now")  # type: ignore[index]
        agent = await app.agent(None, language="en-US", model="noop", max_steps=STEPS + 1)

        async def work() -> None:
            await app.drive(await app.start(LOCAL, agent, "go"), lambda _: None)

        return await measured(work, 3)


def main() -> None:
    """Print the table."""
    floor = asyncio.run(measured(bare))
    mine = asyncio.run(measured(in_memory))
    with tempfile.TemporaryDirectory() as home:
        kept = asyncio.run(logged(home))
    print("| what | CPU us per step | ratio |\n|---|---|---|")
    for name, value in (("bare hand loop", floor), ("Zeno, log in memory", mine), ("Zeno, log in SQLite", kept)):
        print(f"| {name} | {value:.0f} | {value / floor:.1f} |")


if __name__ == "__main__":
    main()
