"""What lies on the disk is for its owner, and for those whom the operator lets in."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.door import Door
from tests.http import inside
from tests.scene import scene

HELLO = {"text": "Hello."}
ROWS = ("zeno.db", "zeno.db-wal", "zeno.db-shm")


@pytest.fixture(autouse=True)
def usual_umask() -> Iterator[None]:
    """As on most machines: what is made may be read by everybody."""
    before = os.umask(0o022)
    yield
    os.umask(before)


def rights(path: Path) -> int:
    """Who may do what with it."""
    return stat.S_IMODE(path.stat().st_mode)


@scene
async def test_a_new_home_is_its_owners_alone(door: Door) -> None:
    async with inside(door) as house, house.own as client:
        assert (await client.post("/api/v1/runs?wait=1", json={"text": "what is 6*7?"})).status_code == 200
        assert [rights(door.home), rights(door.home / "workspaces")] == [0o700, 0o700]
        assert [rights(door.home / name) for name in ROWS] == [0o600] * 3


@scene
async def test_what_an_earlier_version_left_open_is_closed_within_a_home_that_stays_as_the_operator_made_it(door: Door) -> None:
    door.home.mkdir()
    (door.home / "workspaces").mkdir()
    for name in ROWS:
        (door.home / name).touch()
    async with inside(door):
        assert [rights(door.home), rights(door.home / "workspaces")] == [0o755, 0o700]
        assert [rights(door.home / name) for name in ROWS] == [0o600] * 3


def test_the_home_that_nobody_named_is_closed(door: Door) -> None:
    mine = Door(home=door.here / ".zeno", here=door.here, env={"HOME": str(door.here)})
    mine.home.mkdir()
    for _ in range(2):
        assert mine.run("hi", "--model", mine.script(HELLO)).code == 0
        assert rights(mine.home) == 0o700
        mine.home.chmod(0o775)


@scene
async def test_a_home_that_a_group_shares_stays_open_for_it_and_for_nobody_else(door: Door) -> None:
    door.home.mkdir()
    door.home.chmod(0o2770)
    async with inside(door):
        assert rights(door.home) == 0o2770
        assert rights(door.home / "workspaces") & 0o077 == 0o050
        assert [rights(door.home / name) for name in ROWS] == [0o640] * 3
