"""Running a program: bounded in time and output, and nothing that it started outlives the call. Knows POSIX, no tool.

A child leads a process group of its own, and ending means the whole group. A program that leaves its group on purpose (a
daemon) is out of reach here; holding it is the work of a sandbox.
"""

import asyncio
import contextlib
import os
import signal
import tempfile
from collections.abc import AsyncIterator, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

MOST_OUTPUT = 1024 * 1024
GRACE = 0.5
"""Seconds between asking a group to end and killing it."""
_POLL = 0.02
_PLAIN_ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8"}


@dataclass(frozen=True)
class Finished:
    """A program that ended by itself: `code` is negative for a signal, `left_out` counts the bytes that were not kept."""

    code: int
    stdout: bytes
    stderr: bytes
    left_out: int = 0


class RanTooLong(TimeoutError):
    """A program was killed because its time was up; what it had written by then is kept."""

    def __init__(self, seconds: float, stdout: bytes, stderr: bytes) -> None:
        super().__init__(f"still running after {seconds:g} s")
        self.stdout = stdout
        self.stderr = stderr


async def run_process(
    argv: Sequence[str],
    *,
    cwd: Path,
    timeout: float,  # noqa: ASYNC109 - the group has to be ended before anyone is told
    input: bytes | None = None,  # noqa: A002 - the word of the standard library
    env: Mapping[str, str] | None = None,
    most_output: int = MOST_OUTPUT,
) -> Finished:
    """Run a program to its end, at most `timeout` seconds; keeps at most `most_output` bytes of each of its two outputs.

    `env` is the whole environment; without one the program gets a search path and UTF-8, and nothing of this process. The group
    is ended in every case: what the program left running in the background too. Raises `RanTooLong`, and `OSError` when it
    cannot be started.
    """
    async with _Output.reading(most_output) as stdout, _Output.reading(most_output) as stderr:
        with await asyncio.to_thread(_as_file, input) as stdin:
            process = await _started(
                asyncio.create_subprocess_exec(
                    *argv,
                    cwd=cwd,
                    env=dict(_PLAIN_ENVIRONMENT if env is None else env),
                    stdin=stdin,
                    stdout=stdout.child_end,
                    stderr=stderr.child_end,
                    start_new_session=True,
                )
            )
        stdout.hand_over()
        stderr.hand_over()
        in_time = True
        try:
            async with asyncio.timeout(timeout):
                await process.wait()
        except TimeoutError:
            in_time = False
        finally:
            await _end_group(process)
            await asyncio.wait({stdout.ended, stderr.ended}, timeout=GRACE)
        if not in_time or process.returncode is None:
            raise RanTooLong(timeout, bytes(stdout.kept), bytes(stderr.kept))
        return Finished(process.returncode, bytes(stdout.kept), bytes(stderr.kept), stdout.left_out + stderr.left_out)


class _Output(asyncio.Protocol):
    """One output of a program: keeps its beginning and counts the rest, so that the program never blocks."""

    def __init__(self, most: int, child_end: int) -> None:
        self.kept = bytearray()
        self.left_out = 0
        self.child_end = child_end
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._most = most

    @classmethod
    @asynccontextmanager
    async def reading(cls, most: int) -> AsyncIterator["_Output"]:
        """An output that is read while the block runs."""
        end, child_end = os.pipe()
        output = cls(most, child_end)
        pipe = os.fdopen(end, "rb", 0)
        try:
            transport, _ = await asyncio.get_running_loop().connect_read_pipe(lambda: output, pipe)
        except BaseException:
            pipe.close()
            output.hand_over()
            raise
        try:
            yield output
        finally:
            output.hand_over()
            transport.close()
            await asyncio.wait({output.ended}, timeout=GRACE)

    def hand_over(self) -> None:
        """Close the program's end here: only the program and what it starts hold it open."""
        if self.child_end >= 0:
            os.close(self.child_end)
            self.child_end = -1

    def data_received(self, data: bytes) -> None:
        room = max(0, self._most - len(self.kept))
        self.kept += data[:room]
        self.left_out += max(0, len(data) - room)

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.ended.done():
            self.ended.set_result(None)


def _as_file(data: bytes | None) -> BinaryIO:
    """The input as a file: unlike a pipe, it needs nobody to feed it, and blocks nobody when it is not read."""
    if data is None:
        return Path(os.devnull).open("rb")
    file = tempfile.TemporaryFile()  # noqa: SIM115 - the caller closes it
    file.write(data)
    file.seek(0)
    return cast(BinaryIO, file)


async def _started(start: Coroutine[Any, Any, asyncio.subprocess.Process]) -> asyncio.subprocess.Process:
    """The started program. Cancelled while it starts, asyncio would end the child only; here too it is the whole group."""
    starting = asyncio.ensure_future(start)
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        starting.add_done_callback(_kill_started)
        await asyncio.wait({starting}, timeout=GRACE)
        if starting.done() and starting.exception() is None:
            await _end_group(starting.result())
        raise


def _kill_started(starting: "asyncio.Future[asyncio.subprocess.Process]") -> None:
    if not starting.cancelled() and starting.exception() is None:
        _signal_group(starting.result().pid, signal.SIGKILL)


async def _end_group(process: asyncio.subprocess.Process) -> None:
    """Ask the group to end, wait a moment, kill what is left of it, and reap the child."""
    try:
        if _signal_group(process.pid, signal.SIGTERM):
            await _gone(process.pid)
    finally:
        # A second cancellation must not leave anything running.
        killed = _signal_group(process.pid, signal.SIGKILL)
    if killed:
        await _gone(process.pid)
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(GRACE):
            await process.wait()


async def _gone(leader: int) -> None:
    """Wait until nobody is left in the group, a moment at most: where nobody reaps orphans they stay in it, dead."""
    for _ in range(round(GRACE / _POLL)):
        if not _signal_group(leader, 0):
            return
        await asyncio.sleep(_POLL)


def _signal_group(leader: int, number: int) -> bool:
    """Whether there was anyone left in the group to signal."""
    try:
        os.killpg(leader, number)
    except ProcessLookupError:
        return False
    except PermissionError:
        # macOS says so of a group of zombies.
        return False
    return True
