import asyncio
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import psutil
import pytest

from zeno.tools.process import Finished, RanTooLong, run_process

pytestmark = pytest.mark.skipif(os.name != "posix", reason="process groups are POSIX")

STUBBORN = (
    "/bin/sh",
    "-c",
    """
trap '' TERM
sleep 60 &
echo "$$ $!" > ids.new
mv ids.new ids
echo started
sleep 60
""",
)
"""Starts another program; both ignore the request to end."""


def run(*argv: str, cwd: Path, timeout: float = 20, **options: Any) -> Finished:
    return asyncio.run(run_process(argv, cwd=cwd, timeout=timeout, **options))


def python(source: str, *arguments: str) -> Sequence[str]:
    return (sys.executable, "-c", source, *arguments)


def alive(group: int) -> list[int]:
    """The processes of a group that are not zombies."""
    found = []
    for process in psutil.process_iter():
        try:
            if os.getpgid(process.pid) == group and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process.pid)
        except (psutil.NoSuchProcess, ProcessLookupError):
            pass
    return found


async def appeared(path: Path) -> str:
    async with asyncio.timeout(20):
        while not path.exists():
            await asyncio.sleep(0.01)
    return path.read_text()


def test_code_and_both_outputs_of_a_program_come_back(tmp_path: Path) -> None:
    source = "import sys; print(open('here').read()); print('oh', file=sys.stderr); sys.exit(3)"
    (tmp_path / "here").write_text("found")
    assert run(*python(source), cwd=tmp_path) == Finished(3, b"found\n", b"oh\n")


def test_a_program_that_a_signal_ended_has_a_negative_code(tmp_path: Path) -> None:
    assert run(*python("import os; os.kill(os.getpid(), 9)"), cwd=tmp_path).code == -signal.SIGKILL


def test_input_is_read_by_the_program_and_no_input_is_an_empty_one(tmp_path: Path) -> None:
    source = "import sys; sys.stdout.buffer.write(sys.stdin.buffer.read()[-3:])"
    assert run(*python(source), cwd=tmp_path, input=b"x" * 1_000_000 + b"end").stdout == b"end"
    assert run(*python(source), cwd=tmp_path).stdout == b""
    assert run(*python("print('unread')"), cwd=tmp_path, input=b"x" * 1_000_000).stdout == b"unread\n"


def test_output_is_kept_up_to_a_limit_and_the_program_is_not_held_up_by_it(tmp_path: Path) -> None:
    source = "import sys; sys.stdout.write('a' * 3_000_000); sys.stderr.write('b' * 10)"
    done = run(*python(source), cwd=tmp_path, most_output=1000)
    assert done == Finished(0, b"a" * 1000, b"b" * 10, left_out=2_999_000)


def test_the_environment_is_the_given_one_and_never_that_of_this_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    source = "import os; print(sorted(name for name in os.environ if name != 'LC_CTYPE'))"
    assert run(*python(source), cwd=tmp_path).stdout == b"['LANG', 'PATH']\n"
    assert run(*python(source), cwd=tmp_path, env={"ONE": "1"}).stdout == b"['ONE']\n"


def test_a_program_that_is_not_there_is_an_error_of_the_system(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        run("no-such-program", cwd=tmp_path)


def test_a_program_whose_time_is_up_is_killed_with_all_it_started_and_what_it_wrote_is_kept(tmp_path: Path) -> None:
    async def late() -> tuple[RanTooLong, int]:
        running = asyncio.create_task(run_process(STUBBORN, cwd=tmp_path, timeout=2))
        group, grandchild = map(int, (await appeared(tmp_path / "ids")).split())
        assert grandchild in alive(group)
        with pytest.raises(RanTooLong) as caught:
            await running
        return caught.value, group

    error, group = asyncio.run(late())
    assert error.stdout.startswith(b"started\n")
    assert alive(group) == []


def test_cancelling_ends_with_nothing_running_also_a_grandchild_that_ignores_the_request(tmp_path: Path) -> None:
    async def cancelled() -> list[int]:
        running = asyncio.create_task(run_process(STUBBORN, cwd=tmp_path, timeout=60))
        group, grandchild = map(int, (await appeared(tmp_path / "ids")).split())
        assert grandchild in alive(group)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        return alive(group)

    assert asyncio.run(cancelled()) == []


def test_a_second_cancellation_leaves_nothing_running_either(tmp_path: Path) -> None:
    async def cancelled() -> int:
        running = asyncio.create_task(run_process(STUBBORN, cwd=tmp_path, timeout=60))
        group = int((await appeared(tmp_path / "ids")).split()[0])
        running.cancel()
        await asyncio.sleep(0)
        running.cancel()
        await asyncio.wait({running}, timeout=5)
        async with asyncio.timeout(5):
            while alive(group):
                await asyncio.sleep(0.01)
        return group

    assert alive(asyncio.run(cancelled())) == []


def test_what_a_program_leaves_in_the_background_is_ended_with_it(tmp_path: Path) -> None:
    source = "import os, time\nif os.fork() == 0:\n    time.sleep(60)\nprint(os.getpgrp(), flush=True)\n"
    done = run(*python(source), cwd=tmp_path)
    assert done.code == 0
    assert alive(int(done.stdout)) == []


def test_a_program_that_asks_for_a_moment_to_tidy_up_gets_it(tmp_path: Path) -> None:
    script = "trap 'echo tidied; exit 0' TERM; touch ready; sleep 60 & wait"

    async def late() -> bytes:
        running = asyncio.create_task(run_process(("/bin/sh", "-c", script), cwd=tmp_path, timeout=2))
        await appeared(tmp_path / "ready")
        with pytest.raises(RanTooLong) as caught:
            await running
        return caught.value.stdout

    assert asyncio.run(late()) == b"tidied\n"
