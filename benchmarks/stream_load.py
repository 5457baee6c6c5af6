"""The other side of the streams: a paced model and many readers in one process, told what to do line by line.

Tokens hold the time at which they were due, in microseconds of the system's monotonic clock, so that every reader knows how
late one came. It prints its model's port, then one line of JSON for each line of JSON it is given.
"""

import asyncio
import contextlib
import json
import sys
import time
from typing import Any, cast

import aiohttp

GAP = 0.05
"""Seconds between two tokens of a stream."""

SLICES = 20
"""Streams take turns within a gap, so that the load is even."""

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
USAGE = b'data: {"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":9,"total_tokens":18}}\n\ndata: [DONE]\n\n'
AT_ONCE = 20
"""Requests under way while runs are begun."""


def chunked(data: bytes) -> bytes:
    """A chunk of a chunked reply."""
    return b"%x\r\n%b\r\n" % (len(data), data)


def piece(text: str, finish: str = "null") -> bytes:
    """One event of a model's reply."""
    choice = f'{{"index":0,"delta":{{"content":"{text}"}},"finish_reason":{finish}}}'
    return f'data: {{"id":"c","object":"chat.completion.chunk","created":0,"model":"m","choices":[{choice}]}}\n\n'.encode()


class PacedModel:
    """Chat Completions on loopback: `quick` answers with one token at once, `paced` with 20 a second until told to stop."""

    def __init__(self) -> None:
        self.writers: list[asyncio.StreamWriter] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one connection."""
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).lower()
                length = next(int(line[15:]) for line in head.split(b"\r\n") if line.startswith(b"content-length:"))
                request = json.loads(await reader.readexactly(length))
                if request["model"] == "quick":
                    whole = piece(f"{time.monotonic_ns() // 1000} ") + piece("", '"stop"') + USAGE
                    writer.write(HEAD + chunked(whole) + b"0\r\n\r\n")
                else:
                    writer.write(HEAD)
                    self.writers.append(writer)
        writer.close()

    async def pace(self) -> None:
        """Write a token to each open reply, one reply after the other."""
        due, tick = time.monotonic(), 0
        while True:
            due, tick = due + GAP / SLICES, tick + 1
            await asyncio.sleep(max(0.0, due - time.monotonic()))
            token = chunked(piece(f"{round(due * 1e6)} "))
            for writer in self.writers[tick % SLICES :: SLICES]:
                writer.write(token)

    def stop(self) -> None:
        """End all replies."""
        for writer in self.writers:
            writer.write(chunked(piece("", '"stop"') + USAGE) + b"0\r\n\r\n")
        self.writers.clear()


class Readers:
    """Connections that read streams, and how late what they read was."""

    def __init__(self) -> None:
        self.transports: list[asyncio.Transport] = []
        self.begun = 0
        self.lags: list[int] = []
        self.measuring = False

    async def connect(self, host: str, port: int, paths: list[str], token: str) -> None:
        """Open a stream for each path, and wait until each of them has begun."""
        loop = asyncio.get_running_loop()
        wanted = self.begun + len(paths)
        for path in paths:
            head = f"GET {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n\r\n".encode()
            await loop.create_connection(lambda head=head: Reader(self, head), host, port)  # type: ignore[misc]
        async with asyncio.timeout(60):
            while self.begun < wanted:
                await asyncio.sleep(0.01)

    async def measure(self, seconds: float) -> dict[str, float]:
        """What comes in so many seconds: events in a second, and the 95th percentile of their lag in milliseconds."""
        self.lags, self.measuring = [], True
        began = time.monotonic()
        await asyncio.sleep(seconds)
        self.measuring = False
        lags = sorted(self.lags)
        if not lags:
            return {"rate": 0, "p95": float("inf")}
        return {"rate": len(lags) / (time.monotonic() - began), "p95": lags[len(lags) * 95 // 100] / 1000}

    def leave(self) -> None:
        """Close all connections."""
        for transport in self.transports:
            transport.abort()
        self.transports.clear()
        self.begun = 0


class Reader(asyncio.Protocol):
    """One connection. It looks at times only while something is measured: its own cost is not to be the limit."""

    def __init__(self, readers: Readers, head: bytes) -> None:
        self.readers, self.head, self.silent = readers, head, True

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Ask."""
        # What uvloop gives is one in all but name.
        ours = cast(asyncio.Transport, transport)
        self.readers.transports.append(ours)
        ours.write(self.head)

    def data_received(self, data: bytes) -> None:
        """Note how late each token is."""
        if not self.readers.measuring and not self.silent:
            return
        at = data.find(b'"text":"')
        if at > 0 and self.silent:
            self.silent = False
            self.readers.begun += 1
        now = time.monotonic_ns() // 1000
        while at > 0 and self.readers.measuring:
            digits = data[at + 8 : data.find(b" ", at + 8)]
            if digits.isdigit():
                self.readers.lags.append(now - int(digits))
            at = data.find(b'"text":"', at + 8)


async def begin_runs(origin: str, token: str, model: str, count: int) -> list[str]:
    """Begin runs, some at a time: their streams' paths."""
    places = asyncio.Semaphore(AT_ONCE)
    async with aiohttp.ClientSession(headers={"Authorization": f"Bearer {token}"}) as http:

        async def begin() -> str:
            async with places, http.post(f"{origin}/api/v1/runs", json={"text": "go", "model": model}) as answer:
                run = await answer.json()
                assert answer.status == 202, run
                return f"/api/v1/runs/{run['run_id']}/events"

        return list(await asyncio.gather(*(begin() for _ in range(count))))


async def first_tokens(origin: str, token: str, model: str, times: int) -> list[float]:
    """Milliseconds from giving a task to the first piece of its answer, by HTTP."""
    taken = []
    async with aiohttp.ClientSession(headers={"Authorization": f"Bearer {token}"}) as http:
        for _ in range(times):
            began = time.perf_counter()
            async with http.post(f"{origin}/api/v1/runs", json={"text": "go", "model": model}) as answer:
                run = (await answer.json())["run_id"]
            async with http.get(f"{origin}/api/v1/runs/{run}/events") as stream:
                async for line in stream.content:
                    if line.startswith(b"event: text_delta"):
                        taken.append((time.perf_counter() - began) * 1000)
                        break
                await stream.read()
    return taken


class Load:
    """What can be asked for."""

    def __init__(self) -> None:
        self.model, self.readers = PacedModel(), Readers()

    async def do(self, host: str = "127.0.0.1", **order: Any) -> Any:
        """Carry out one order."""
        match order:
            case {"do": "read", "port": port, "paths": paths, "seconds": seconds}:
                await self.readers.connect(host, port, paths, "")
                return await self.readers.measure(seconds)
            case {"do": "run", "port": port, "token": token, "model": model, "count": count, "seconds": seconds}:
                paths = await begin_runs(f"http://{host}:{port}", token, model, count)
                await self.readers.connect(host, port, paths, token)
                return await self.readers.measure(seconds)
            case {"do": "first", "port": port, "token": token, "model": model, "times": times}:
                return await first_tokens(f"http://{host}:{port}", token, model, times)
            case {"do": "stop"}:
                self.model.stop()
                self.readers.leave()
                return "stopped"
            case unknown:
                raise ValueError(unknown)


async def main() -> None:
    """Serve the model, and do as told until there is nobody to tell."""
    load = Load()
    server = await asyncio.start_server(load.model.serve, "127.0.0.1", 0, backlog=4096)
    pacing = asyncio.create_task(load.model.pace())
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    while line := await asyncio.to_thread(sys.stdin.readline):
        sys.stdout.write(json.dumps(await load.do(**json.loads(line))) + "\n")
        sys.stdout.flush()
    pacing.cancel()


if __name__ == "__main__":
    import uvloop

    uvloop.run(main())
