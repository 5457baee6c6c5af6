"""A deterministic model for benchmarks: Chat Completions on loopback, its reply decided by the model's name alone.

`chat-N` streams N tokens; `tools-S-P-N` asks S times for P calls of one tool, then streams N tokens. Options behind `@`:
`gap=MS` between tokens (0: all in one write), `first=MS` before the first, `tool=NAME`, `ms=N` (the tool's argument). It prints
its port, and closes a reply whose reader has gone; `GET /open` tells how many replies are being written.
"""

import asyncio
import contextlib
import json
import sys
from typing import Any

open_replies = 0


def chunk(delta: dict[str, Any], finish: str | None = None) -> bytes:
    """One event of the stream."""
    body = {
        "id": "c",
        "object": "chat.completion.chunk",
        "created": 0,
        "model": "m",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
    }
    return b"data: " + json.dumps(body, separators=(",", ":")).encode() + b"\n\n"


def reply(request: dict[str, Any]) -> tuple[list[bytes], dict[str, str]]:
    """The events that answer a request, and the options of its model's name."""
    name, _, rest = request["model"].partition("@")
    options = dict(part.split("=") for part in rest.split(",") if part)
    kind, *sizes = name.split("-")
    steps, parallel, tokens = (0, 0, int(sizes[0])) if kind == "chat" else (int(size) for size in sizes)
    messages = request["messages"]
    asked = {call["id"] for message in messages for call in message.get("tool_calls") or ()}
    answered = {message["tool_call_id"] for message in messages if message["role"] == "tool"}
    if asked != answered:
        raise ValueError("calls and results do not match")
    step = len(asked) // parallel if parallel else 0
    if step < steps:
        return [*calls(step, parallel, options), tail("tool_calls")], options
    return [*(chunk({"content": f"t{n:03d} "}) for n in range(tokens)), tail("stop")], options


def calls(step: int, parallel: int, options: dict[str, str]) -> list[bytes]:
    """The events that ask for the tool, `parallel` times."""
    tool = options.get("tool", "echo")
    arguments = json.dumps({"ms": int(options["ms"])} if tool == "doze" else {"text": f"hello {step}"})
    events = []
    for index in range(parallel):
        function = {"name": tool, "arguments": ""}
        head = {"index": index, "id": f"call_{step}_{index}", "type": "function", "function": function}
        events += [
            chunk({"tool_calls": [head]}),
            chunk({"tool_calls": [{"index": index, "function": {"arguments": arguments}}]}),
        ]
    return events


def tail(finish: str) -> bytes:
    """The end of a stream: finish reason, usage, `[DONE]`."""
    usage = b'data: {"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":10,"total_tokens":20}}\n\n'
    return chunk({}, finish) + usage + b"data: [DONE]\n\n"


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer the requests of one connection."""
    with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
        while head := await reader.readuntil(b"\r\n\r\n"):
            if head.startswith(b"GET"):
                body = str(open_replies).encode()
                writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%s" % (len(body), body))
                continue
            length = next(int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
            await answer(json.loads(await reader.readexactly(length)), reader, writer)
    writer.close()


async def answer(request: dict[str, Any], reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Stream one reply."""
    global open_replies
    events, options = reply(request)
    gap, first = (float(options.get(name, 0)) / 1000 for name in ("gap", "first"))
    writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
    open_replies += 1
    try:
        if first:
            await asyncio.sleep(first)
        if gap:
            for event in events:
                writer.write(b"%x\r\n%s\r\n" % (len(event), event))
                await writer.drain()
                if reader.at_eof() or writer.is_closing():
                    raise ConnectionError
                await asyncio.sleep(gap)
        else:
            whole = b"".join(events)
            writer.write(b"%x\r\n%s\r\n" % (len(whole), whole))
        writer.write(b"0\r\n\r\n")
        await writer.drain()
    finally:
        open_replies -= 1


async def main() -> None:
    """Listen on a free port and print it."""
    server = await asyncio.start_server(serve, "127.0.0.1", 0, limit=2**24)
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
