"""What Zeno costs on top of a model: CPU, added time, parallel calls, many runs at once, cancelling; beside bare loops.

The floors are loops written by hand on httpx2 and on aiohttp, against the same deterministic endpoint in a process of its own.
All figures come from one run, cases interleaved, the best of several rounds; compare columns, not machines.
"""

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any, Protocol

import aiohttp
import httpx2

from zeno.agent import Agent
from zeno.app import opened
from zeno.core.ports import Delta, TextDelta
from zeno.core.scope import LOCAL
from zeno.settings import load
from zeno.stores.event_log import Record
from zeno.tools.function import function_tool

SYSTEM = "You are a helpful assistant. Use the tools when they help."
PROMPT = "Please answer the question."
ROUNDS = 5
Token = Callable[[str], None]


async def echo(text: str) -> str:
    """Return the text unchanged. Use when a text is to be repeated.

    Args:
        text: The text to return.
    """
    return text


async def doze(ms: int) -> str:
    """Sleep. Use when nothing else is to be done.

    Args:
        ms: How many milliseconds to sleep.
    """
    await asyncio.sleep(ms / 1000)
    return "slept"


def doze_plain(ms: int) -> str:
    """Sleep. Use when nothing else is to be done.

    Args:
        ms: How many milliseconds to sleep.
    """
    time.sleep(ms / 1000)
    return "slept"


doze_plain.__name__ = "doze"
FUNCTIONS: dict[str, Callable[..., Awaitable[str]]] = {"echo": echo, "doze": doze}
TOOLS = [
    {
        "type": "function",
        "function": {"name": tool.spec.name, "description": tool.spec.description, "parameters": tool.spec.parameters},
    }
    for tool in (function_tool(echo), function_tool(doze))
]


OWN_TOOLS = """
from benchmarks.models import doze, echo
from zeno.tools.function import function_tool

# Volatile: a result of before would cost nothing and measure nothing.
ECHO, DOZE = (function_tool(each, volatile=True) for each in (echo, doze))
"""


class Runner(Protocol):
    """One column."""

    async def run(self, model: str, token: Token) -> None:
        """One run to its end, each piece of the answer given to `token`."""


class BareLoop:
    """A loop by hand; how lines arrive is the only difference between the two floors."""

    def __init__(self, lines: Callable[[bytes], AsyncIterator[bytes]]) -> None:
        self.lines = lines

    async def run(self, model: str, token: Token) -> None:
        """One run."""
        messages: list[dict[str, Any]] = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": PROMPT}]
        while True:
            body = {"model": model, "messages": messages, "stream": True, "stream_options": {"include_usage": True}}
            calls = await self._ask(json.dumps(body | ({"tools": TOOLS} if model.startswith("tools") else {})).encode(), token)
            if not calls:
                return
            messages.append({"role": "assistant", "content": None, "tool_calls": calls})
            results = await asyncio.gather(*(self._call(call["function"]) for call in calls))
            for call, result in zip(calls, results, strict=True):
                messages.append({"role": "tool", "tool_call_id": call["id"], "content": result})

    async def _ask(self, body: bytes, token: Token) -> list[dict[str, Any]]:
        calls: dict[int, dict[str, Any]] = {}
        async for line in self.lines(body):
            if not line.startswith(b"data: ") or line.startswith(b"data: [DONE]"):
                continue
            choices = json.loads(line[6:])["choices"]
            delta = choices[0]["delta"] if choices else {}
            if text := delta.get("content"):
                token(text)
            for part in delta.get("tool_calls") or ():
                call = calls.setdefault(part["index"], {"type": "function", "function": {"name": "", "arguments": ""}})
                call["id"] = part.get("id") or call.get("id")
                call["function"]["name"] += part["function"].get("name") or ""
                call["function"]["arguments"] += part["function"].get("arguments") or ""
        return list(calls.values())

    async def _call(self, function: dict[str, str]) -> str:
        return await FUNCTIONS[function["name"]](**json.loads(function["arguments"]))


@asynccontextmanager
async def bare_httpx2(url: str) -> AsyncIterator[Runner]:
    """The floor on httpx2."""
    limits = httpx2.Limits(max_connections=1000, max_keepalive_connections=1000)
    async with httpx2.AsyncClient(timeout=600, limits=limits, trust_env=False) as http:

        async def lines(body: bytes) -> AsyncIterator[bytes]:
            async with http.stream("POST", f"{url}/chat/completions", content=body) as response:
                async for line in response.aiter_lines():
                    yield line.encode()

        yield BareLoop(lines)


@asynccontextmanager
async def bare_aiohttp(url: str) -> AsyncIterator[Runner]:
    """The floor on aiohttp."""
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as http:

        async def lines(body: bytes) -> AsyncIterator[bytes]:
            async with http.post(f"{url}/chat/completions", data=body) as response:
                async for line in response.content:
                    yield line

        yield BareLoop(lines)


class Zeno:
    """Zeno through its library."""

    def __init__(self, url: str, *, plain: bool = False) -> None:
        self.agents: dict[str, Agent] = {}
        self.url, self.plain = url, plain

    async def run(self, model: str, token: Token) -> None:
        """One run."""
        if model not in self.agents:
            tools = [echo, doze_plain if self.plain else doze] if model.startswith("tools") else []
            self.agents[model] = Agent(
                model=f"openai:{model}", base_url=self.url, tools=tools, instructions=SYSTEM, max_steps=100
            )
        async with aclosing(self.agents[model].stream(PROMPT)) as told:
            async for item in told:
                if isinstance(item, TextDelta):
                    token(item.text)


@asynccontextmanager
async def zeno(url: str) -> AsyncIterator[Runner]:
    """Zeno, nothing kept."""
    column = Zeno(url)
    yield column
    for agent in column.agents.values():
        await agent.close()


@asynccontextmanager
async def zeno_logged(url: str) -> AsyncIterator[Runner]:
    """Zeno with the durable log in SQLite."""
    with tempfile.TemporaryDirectory() as home:
        own = Path(home) / "tools.py"
        own.write_text(OWN_TOOLS)
        settings = load(
            home=home,
            openai={"base_url": url},
            tools={"modules": [str(own)]},
            agents={"bench": {"tools": ["echo", "doze"]}},
        )
        async with opened(settings) as app:

            class Logged:
                async def run(self, model: str, token: Token) -> None:
                    agent = await app.agent("bench", language="en-US", model=f"openai:{model}", max_steps=100)

                    def tell(item: Record | Delta) -> None:
                        if isinstance(item, TextDelta):
                            token(item.text)

                    await app.drive(await app.start(LOCAL, agent, PROMPT), tell)

            yield Logged()


COLUMNS = {"bare httpx2": bare_httpx2, "bare aiohttp": bare_aiohttp, "Zeno": zeno, "Zeno, SQLite log": zeno_logged}


async def cpu_per_run(runner: Runner, model: str, runs: int) -> float:
    """CPU milliseconds of this process per run."""
    began = time.process_time()
    for _ in range(runs):
        await runner.run(model, lambda _: None)
    return (time.process_time() - began) / runs * 1000


async def wall(runner: Runner, model: str, at_once: int = 1) -> float:
    """Milliseconds until all of `at_once` runs have ended."""
    began = time.perf_counter()
    await asyncio.gather(*(runner.run(model, lambda _: None) for _ in range(at_once)))
    return (time.perf_counter() - began) * 1000


async def crowded(runner: Runner, model: str, at_once: int) -> float:
    """How much longer `at_once` runs take together than one alone."""
    alone = min([await wall(runner, model) for _ in range(2)])
    return await wall(runner, model, at_once) / alone


async def first_token_share(runner: Runner, model: str) -> float:
    """When the first piece was seen, as a share of the time until the last."""
    seen: list[float] = []
    began = time.perf_counter()
    await runner.run(model, lambda _: seen.append(time.perf_counter()))
    return (seen[0] - began) / (seen[-1] - began)


CASES: dict[str, Callable[[Runner], Awaitable[float]]] = {
    "1 token, CPU ms": lambda runner: cpu_per_run(runner, "chat-1", 60),
    "200 tokens in a burst, CPU ms": lambda runner: cpu_per_run(runner, "chat-200", 15),
    "200 tokens, 2 ms apart, CPU ms": lambda runner: cpu_per_run(runner, "chat-200@gap=2", 2),
    "5 tool rounds, CPU ms": lambda runner: cpu_per_run(runner, "tools-5-1-20", 10),
    "30 tool rounds, CPU ms": lambda runner: cpu_per_run(runner, "tools-30-1-20", 3),
    "8 tools of 200 ms, wall ms": lambda runner: wall(runner, "tools-1-8-1@tool=doze,ms=200"),
    "100 runs at once, wall over that of one alone": lambda runner: crowded(runner, "tools-3-1-20@first=220,gap=40", 100),
    "first piece of a burst, share of the whole": lambda runner: first_token_share(runner, "chat-2000"),
}
HEAVY = {"100 runs at once, wall over that of one alone"}


async def cancelled(runner: Runner, url: str) -> float:
    """Milliseconds from cancelling a run until the endpoint has no open reply."""

    def open_replies() -> int:
        return int(urllib.request.urlopen(url.replace("/v1", "/open")).read())

    started = asyncio.Event()
    task = asyncio.create_task(runner.run("chat-5000@gap=2", lambda _: started.set()))
    await started.wait()
    task.cancel()
    began = time.perf_counter()
    await asyncio.wait({task})
    while await asyncio.to_thread(open_replies):
        await asyncio.sleep(0.001)
    return (time.perf_counter() - began) * 1000


async def compare(url: str) -> None:
    """Print the table."""
    best: dict[tuple[str, str], float] = {}
    for name, column in COLUMNS.items():
        async with column(url) as runner:
            await runner.run("chat-1", lambda _: None)
            for case, measure in CASES.items():
                for _ in range(1 if case in HEAVY else ROUNDS):
                    value = await measure(runner)
                    best[case, name] = min(value, best.get((case, name), value))
            best["upstream closed after cancelling, ms", name] = await cancelled(runner, url)
    print("| case | " + " | ".join(COLUMNS) + " |\n|---|" + "---|" * len(COLUMNS))
    for case in [*CASES, "upstream closed after cancelling, ms"]:
        print(f"| {case} | " + " | ".join(f"{best[case, name]:.2f}" for name in COLUMNS) + " |")
    plain = Zeno(url, plain=True)
    for count in (8, 32):
        times = [await wall(plain, f"tools-1-{count}-1@tool=doze,ms=200") for _ in range(ROUNDS)]
        print(f"\n{count} plain functions of 200 ms: {min(times):.0f} ms")
    for agent in plain.agents.values():
        await agent.close()


def main() -> None:
    """Start the endpoint, compare, stop it."""
    endpoint = Path(__file__).with_name("chat_endpoint.py")
    server = subprocess.Popen([sys.executable, str(endpoint)], stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout
        port = int(server.stdout.readline())
        if hasattr(os, "sched_setaffinity") and (os.cpu_count() or 1) > 1:
            os.sched_setaffinity(server.pid, {0})
            os.sched_setaffinity(0, {1})
        asyncio.run(compare(f"http://127.0.0.1:{port}/v1"))
    finally:
        server.kill()
        server.wait()


if __name__ == "__main__":
    main()
