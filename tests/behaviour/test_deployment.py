"""`zeno doctor --deployment` says what several processes need and lack."""

import json
import shutil
import socket
from pathlib import Path

import pytest

from tests.databases import current
from tests.door import Door
from zeno.cli.deployment import MARKS


def test_one_process_with_a_file_is_sound_but_not_for_several(door: Door) -> None:
    outcome = door.zeno("doctor", "--deployment", lang="zh-CN")
    assert outcome.code == 0, outcome.out
    assert "PostgreSQL" in outcome.out
    assert outcome.out.count(MARKS["broken"][0]) == 0
    found = json.loads(door.zeno("doctor", "--deployment", "--json").out)
    states = {name: finding["state"] for name, finding in found.items()}
    assert states.pop("space") in ("sound", "doubtful")
    assert states == {
        "database": "doubtful",
        "schema": "sound",
        "writing": "sound",
        "clock": "note",
        "redis": "note",
        "vectors": "note",
        "files": "sound",
        "sharing": "note",
    }
    assert json.loads(door.zeno("runs", "--json").out) == []


@pytest.mark.slow
@pytest.mark.parametrize("own_database", ["postgresql", "mariadb"], indirect=True)
def test_a_server_is_told_with_its_version_and_its_clock(door: Door, own_database: str) -> None:
    door.env["ZENO_DATABASE_URL"] = current[-1]
    found = json.loads(door.zeno("doctor", "--deployment", "--json").out)
    assert found["database"]["state"] == ("sound" if own_database.startswith("postgresql") else "doubtful")
    assert "max_connections" in found["database"]["detail"]
    assert found["clock"]["state"] == "sound"
    assert found["schema"]["state"] == found["writing"]["state"] == "sound"


def test_a_directory_that_is_not_the_one_of_the_others_is_broken(door: Door) -> None:
    assert door.run("1+1", "--model", "offline").code == 0
    assert json.loads(door.zeno("doctor", "--deployment", "--json").out)["sharing"] == {
        "state": "sound",
        "detail": "1/1",
        "advice": "",
    }
    shutil.rmtree(door.home / "workspaces")
    outcome = door.zeno("doctor", "--deployment", lang="en-US")
    assert outcome.code == 4
    assert "0/1" in outcome.out
    assert "mount one volume" in outcome.out


def test_a_redis_that_is_not_there_is_broken_and_its_password_is_not_told(door: Door) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    door.env["ZENO_REDIS_URL"] = f"redis://:geheim@127.0.0.1:{port}/0"
    outcome = door.zeno("doctor", "--deployment")
    assert outcome.code == 4
    assert "geheim" not in outcome.out + outcome.err
    assert json.loads(door.zeno("doctor", "--deployment", "--json").out)["redis"]["state"] == "broken"


@pytest.mark.slow
def test_a_redis_that_is_there_is_told_with_its_version_and_what_it_does_when_full(door: Door, tmp_path: Path) -> None:
    import redis as client

    from tests.with_services import redis

    home = tmp_path / "redis"
    home.mkdir()
    with redis(home) as url:
        door.env["ZENO_REDIS_URL"] = url
        found = json.loads(door.zeno("doctor", "--deployment", "--json").out)["redis"]
        assert found["state"] == "sound"
        assert "noeviction" in found["detail"]
        with client.Redis.from_url(url) as connection:
            connection.config_set("maxmemory", "64mb")
        found = json.loads(door.zeno("doctor", "--deployment", "--json").out)["redis"]
        assert (found["state"], found["advice"]) == ("doubtful", "redis_refuses")
