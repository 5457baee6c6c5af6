"""The metrics: what a machine that watches over an installation is told, and who else is."""

import asyncio
import json
import time
from pathlib import Path

import httpx2
from prometheus_client.parser import text_string_to_metric_families

from tests.door import Door, call, calls
from tests.house import House, furnished, served
from tests.http import HOLD, Inside, inside, serving
from tests.live import gated, live
from tests.scene import BOUND, scene
from tests.server_door import code, server
from zeno.app import opened
from zeno.core.scope import LOCAL
from zeno.server.application import application
from zeno.server.metrics import Metrics, Names

TOKEN = "a-token-for-metrics-only"

Samples = dict[str, float]


def parsed(text: str) -> Samples:
    """Every sample by its name with its labels, `name{a=1,b=2}`."""
    found = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            labels = ",".join(f"{name}={value}" for name, value in sorted(sample.labels.items()))
            found[f"{sample.name}{{{labels}}}" if labels else sample.name] = sample.value
    return found


async def metrics(house: House) -> Samples:
    """What the one user is told, who is the admin."""
    answer = await house.client.get("/metrics")
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"].startswith("text/plain; version=")
    return parsed(answer.text)


async def own_metrics(house: Inside) -> Samples:
    """The same of a house at a port."""
    async with house.own as client:
        return parsed((await client.get("/metrics")).text)


@scene
async def test_runs_steps_tools_tokens_and_cost_are_counted(tmp_path: Path) -> None:
    both = calls(call("calculate", expression="6*7"), call("calculate", expression="6*"))
    replies = [
        both | {"usage": {"input_tokens": 10, "cached_tokens": 4, "output_tokens": 2}},
        {"text": "It is 42.", "usage": {"input_tokens": 20, "output_tokens": 3}},
    ]
    model = "scripted:script.jsonl"
    prices = {model: {"input": 1_000_000, "output": 2_000_000, "cached": 0}}
    async with served(furnished(tmp_path, replies, prices=prices)) as house:
        assert (await house.settled(await house.run()))["ending"] == "answered"
        told = await metrics(house)
    assert told["zeno_runs_ended_total{ending=answered}"] == 1
    assert told[f"zeno_step_seconds_count{{model={model}}}"] == 2
    assert told["zeno_tool_seconds_count{outcome=done,tool=calculate}"] == 1
    assert told["zeno_tool_seconds_count{outcome=failed,tool=calculate}"] == 1
    assert [told[f"zeno_tokens_total{{kind={kind},model={model}}}"] for kind in ("input", "cached", "output")] == [26, 4, 5]
    assert told[f"zeno_cost_total{{model={model}}}"] == 26 + 2 * 5


@scene
async def test_what_waits_for_a_person_is_told_until_it_is_decided(tmp_path: Path) -> None:
    replies = [calls(call("send_mail", to="a@example.com", text="hi")), {"text": "Sent."}]
    async with served(furnished(tmp_path, replies, HOLD)) as house:
        run = await house.run()
        await house.settled(run, "awaiting_approval")
        # Its driver lets go of it a moment after it has paused.
        while (told := await metrics(house))["zeno_installation_runs{state=paused}"] != 1:
            await asyncio.sleep(0.01)
        assert told["zeno_database_up"] == told["zeno_installation_approvals_waiting"] == told["zeno_runs_paused_total"] == 1
        (approval,) = await house.waiting()
        await house.decide(approval["id"], "approve")
        await house.settled(run, "answered")
        told = await metrics(house)
    assert told["zeno_installation_approvals_waiting"] == told["zeno_installation_runs{state=paused}"] == 0
    assert told["zeno_tool_seconds_count{outcome=done,tool=send_mail}"] == 1


@scene
async def test_runs_at_work_and_who_follows_them_are_told(door: Door) -> None:
    async with live(door) as house:
        model = gated(house)
        run = await house.run("go", model="gated")
        async with house.follow(run) as stream:
            model.say("Hello")
            await stream.until("text_delta")
            told = await own_metrics(house)
            assert told["zeno_runs_at_work"] == told["zeno_followers"] == told["zeno_installation_runs{state=driven}"] == 1
            model.stop()
            await stream.rest()
        while (told := await own_metrics(house))["zeno_followers"] or told["zeno_runs_at_work"]:
            await asyncio.sleep(0.01)
    assert told["zeno_runs_ended_total{ending=answered}"] == 1


@scene
async def test_a_run_that_nobody_drives_ages_in_the_queue(tmp_path: Path) -> None:
    settings = furnished(tmp_path, [{"text": "x"}])
    async with opened(settings) as app:
        await app.start(LOCAL, await app.agent(None, language="en-US"), "go")
        made = time.monotonic()
        while time.monotonic() - made < 0.05:
            await asyncio.sleep(0.01)
        async with Inside([app], [application(app)]).own as client:
            told = parsed((await client.get("/metrics")).text)
    assert told["zeno_installation_runs{state=due}"] == 1
    assert told["zeno_installation_queue_age_seconds"] >= 0.05


@scene
async def test_only_an_admin_and_the_token_for_metrics_see_them(tmp_path: Path) -> None:
    async with server(tmp_path, auth="team", metrics_token=TOKEN) as house:
        team = await house.team("main")
        boss, member = await house.user("boss", team, "admin"), await house.user("member", team)
        async with house.caller() as nobody, house.caller("wrong") as guess, house.caller(TOKEN) as machine:
            assert await code(nobody.get("/metrics")) == (401, "credential_missing")
            assert await code(guess.get("/metrics")) == (401, "credential_invalid")
            assert await code(machine.get("/metrics")) == (200, "")
            assert await code(machine.get("/api/v1/runs")) == (401, "credential_invalid")
        async with house.page(member, team) as page:
            assert await code(page.get("/metrics")) == (403, "right_missing")
        async with house.page(boss, team) as page:
            assert await code(page.get("/metrics")) == (200, "")


@scene
async def test_without_a_token_for_metrics_an_empty_one_opens_nothing(door: Door) -> None:
    async with inside(door) as house, house.caller("") as client:
        assert await code(client.get("/metrics")) == (401, "credential_invalid")


@scene
async def test_without_the_database_the_process_still_tells_its_own_figures(door: Door) -> None:
    async with inside(door, server={"metrics_token": TOKEN}) as house, house.caller(TOKEN) as client:
        assert parsed((await client.get("/metrics")).text)["zeno_database_up"] == 1
        await house.app.runs.database.write(lambda connection: connection.exec_driver_sql("alter table inbox rename to gone"))
        told = parsed((await client.get("/metrics")).text)
        await house.app.runs.database.write(lambda connection: connection.exec_driver_sql("alter table gone rename to inbox"))
        assert parsed((await client.get("/metrics")).text)["zeno_database_up"] == 1
    assert told["zeno_database_up"] == 0
    assert told["zeno_runs_at_work"] == 0
    assert str(told["zeno_installation_queue_age_seconds"]) == "nan"


def test_a_serving_process_measures_how_late_its_loop_is(door: Door) -> None:
    door.env["ZENO_MODEL"] = "offline"
    with serving(door) as own:
        client, until = own.client(), time.monotonic() + BOUND
        while time.monotonic() < until:
            told = parsed(client.get(f"{own.origin}/metrics").text)
            if told["zeno_event_loop_lag_seconds_count"] >= 1:
                break
        assert told["zeno_event_loop_lag_seconds_count"] >= 1
        assert own.stop() == 0
    assert not [line for line in own.lines if json.dumps(line).count("exception")]


@scene
async def test_a_process_that_only_drives_tells_its_own_figures_at_a_port(tmp_path: Path) -> None:
    async with opened(furnished(tmp_path, [{"text": "x"}])) as app:
        metrics = Metrics(app)
        run = await app.start(LOCAL, await app.agent(None, language="en-US"), "go")
        await app.drive(run, lambda _: None)
        async with metrics.exposed("127.0.0.1", 0) as port, httpx2.AsyncClient(trust_env=False) as client:
            told = parsed((await client.get(f"http://127.0.0.1:{port}/metrics")).text)
    assert told["zeno_runs_ended_total{ending=answered}"] == 1
    assert not [name for name in told if name.startswith("zeno_installation")]


def test_names_become_labels_up_to_a_bound() -> None:
    names = Names(most=2)
    assert [names.label(name) for name in ("a", "b", "c", "a")] == ["a", "b", "other", "a"]
