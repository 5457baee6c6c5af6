"""What `deploy/` describes is what Zeno can do: its commands exist, its files can be read, and together they work."""

import contextlib
import ipaddress
import json
import os
import re
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
import yaml

from tests.architecture.source import ROOT
from tests.databases import database
from tests.door import ZENO, Door, call, calls
from tests.http import HOLD, parsed
from tests.scene import BOUND
from zeno.settings import Settings

DEPLOY = ROOT / "deploy"
TOKEN = "a-token-of-this-test-only"

COMPOSE: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text("utf-8"))
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
OURS = {name: service for name, service in SERVICES.items() if service["image"] == "zeno:latest"}
MANIFESTS = [
    document
    for path in sorted((DEPLOY / "kubernetes").glob("*.yaml"))
    for document in yaml.safe_load_all(path.read_text("utf-8"))
]


def containers() -> list[dict[str, Any]]:
    """The containers of all deployments."""
    return [
        container
        for document in MANIFESTS
        if document["kind"] == "Deployment"
        for container in document["spec"]["template"]["spec"]["containers"]
    ]


def variables() -> set[str]:
    """Every variable of ours that is set anywhere."""
    named = {name for service in OURS.values() for name in service["environment"]}
    for document in MANIFESTS:
        named |= set(document.get("data", {})) | set(document.get("stringData", {}))
    named |= set(re.findall(r"^#?([A-Z_]+)=", (DEPLOY / "zeno.env.example").read_text("utf-8"), re.MULTILINE))
    return {name for name in named if name.startswith("ZENO_")}


def test_every_file_can_be_read_and_the_parts_are_there() -> None:
    commands = [service["command"][0] for service in OURS.values()]
    assert (commands.count("serve"), commands.count("worker")) == (3, 2)
    assert {"nginx", "postgres", "redis"} <= SERVICES.keys()
    assert len([service for service in OURS.values() if "build" in service]) == 1, "one image, built once"
    assert {service["pull_policy"] for service in OURS.values()} == {"never"}
    kinds = [document["kind"] for document in MANIFESTS]
    assert kinds.count("Deployment") == kinds.count("PodDisruptionBudget") == 2
    assert {"Service", "Ingress", "ConfigMap", "Secret", "PersistentVolumeClaim"} <= set(kinds)
    listed = yaml.safe_load((DEPLOY / "kubernetes" / "kustomization.yaml").read_text("utf-8"))["resources"]
    there = {path.name for path in (DEPLOY / "kubernetes").glob("*.yaml")}
    assert there == {*listed, "kustomization.yaml", "secret.example.yaml"}


@pytest.mark.parametrize(
    "command", sorted({tuple(own["command"]) for own in OURS.values()} | {tuple(c["args"]) for c in containers()})
)
def test_the_commands_exist(door: Door, command: tuple[str, ...]) -> None:
    outcome = door.zeno(*command, "--help")
    assert outcome.code == 0, outcome.err


def test_the_commands_of_the_readme_exist_and_run_as_the_user_who_may_read_everything(door: Door) -> None:
    readme = (DEPLOY / "README.md").read_text("utf-8")
    # Of another user, models that were saved on the page and their keys are hidden.
    assert not re.search(r"^    docker compose .*(--user|-u)\b", readme, re.MULTILINE)
    # What is run is Zeno by itself, what is executed beside it says so.
    lines = re.findall(r"^    (?:docker compose|kubectl) .*(?:run .*worker-1|exec .* zeno) (.*)$", readme, re.MULTILINE)
    own = [re.split(r" [<#]", line)[0].split() for line in lines]
    assert {"backup", "restore", "users", "doctor"} <= {words[0] for words in own}
    for words in own:
        assert door.zeno(*words, "--help").code == 0, words
    (saved,) = [words[-1] for words in own if words[0] == "backup"]
    assert saved.startswith(f"{OURS['worker-1']['volumes'][0].partition(':')[2]}/")


@pytest.mark.parametrize("name", sorted(variables()))
def test_the_variables_are_settings(name: str) -> None:
    if name == "ZENO_TOKEN":
        return
    first, *rest = name.removeprefix("ZENO_").lower().split("__")
    fields = Settings.model_fields
    assert first in fields
    for part in rest:
        inner = fields[first].annotation
        assert inner is not None
        assert part in inner.model_fields


def test_nothing_runs_as_root_or_may_write_where_it_need_not() -> None:
    for service in OURS.values():
        assert service["read_only"] is True
        assert service["cap_drop"] == ["ALL"]
        assert "healthcheck" in service or service["command"][0] == "serve"
    for container in containers():
        assert container["securityContext"]["readOnlyRootFilesystem"] is True
        assert container["securityContext"]["allowPrivilegeEscalation"] is False
        assert "livenessProbe" in container
    dockerfile = (DEPLOY / "Dockerfile").read_text("utf-8")
    last = dockerfile[dockerfile.rindex("\nFROM ") :]
    assert "\nUSER 10001" in last
    assert "/readyz" in last
    assert not re.search(r"pip install|apt-get|gcc|build-essential", last)


def address(name: str) -> str:
    """The fixed address of a service in the network inside."""
    return str(SERVICES[name]["networks"]["inner"]["ipv4_address"])


def test_servers_are_asked_where_they_are_and_by_a_proxy_that_they_trust() -> None:
    servers = {address(name) for name, service in OURS.items() if service["command"][0] == "serve"}
    conf = (DEPLOY / "nginx.conf").read_text("utf-8")
    # A name would be looked up once, and may lead through a network where nginx is a stranger.
    assert set(re.findall(r"^ +server (\S+):8321 ", conf, re.MULTILINE)) == servers
    trusted = json.loads(COMPOSE["x-zeno"]["environment"]["ZENO_SERVER__TRUSTED_PROXIES"])
    assert trusted == [f"{address('nginx')}/32"]
    (inside,) = COMPOSE["networks"]["inner"]["ipam"]["config"]
    fixed = {ipaddress.ip_address(each) for each in (*servers, address("nginx"))}
    assert all(each in ipaddress.ip_network(inside["subnet"]) for each in fixed)
    assert not any(each in ipaddress.ip_network(inside["ip_range"]) for each in fixed), "somebody else could be given it"


def test_workers_are_asked_whether_they_live_where_they_say_so() -> None:
    for service in OURS.values():
        if service["command"][0] == "worker":
            port = service["environment"]["ZENO_WORKER_METRICS_PORT"]
            assert f"'http://127.0.0.1:{port}/livez'" in service["healthcheck"]["test"][-1]
    (config,) = [document["data"] for document in MANIFESTS if document["kind"] == "ConfigMap"]
    ports = {port["name"]: port["containerPort"] for container in containers() for port in container["ports"]}
    assert ports["metrics"] == int(config["ZENO_WORKER_METRICS_PORT"])
    for container in containers():
        assert container["livenessProbe"]["httpGet"] == {"path": "/livez", "port": container["ports"][0]["name"]}


@contextmanager
def process(command: list[str], env: dict[str, str], log: Path, here: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process for the length of the block."""
    with log.open("w") as output:
        running = subprocess.Popen(command, env=env, cwd=here, stdout=output, stderr=subprocess.STDOUT)
    try:
        yield running
    finally:
        running.terminate()
        try:
            running.wait(BOUND)
        except subprocess.TimeoutExpired:
            running.kill()
            running.wait()


def free_ports(number: int) -> list[int]:
    """Ports that nothing listens at now."""
    with ExitStack() as held:
        return [held.enter_context(socket.create_server(("127.0.0.1", 0))).getsockname()[1] for _ in range(number)]


def ready(url: str, log: Path) -> None:
    """Return when it answers that it can work."""
    deadline = time.monotonic() + BOUND
    while time.monotonic() < deadline:
        with contextlib.suppress(httpx2.HTTPError):
            if httpx2.get(url, trust_env=False).status_code == 200:
                return
        time.sleep(0.05)
    pytest.fail(f"{url} did not become ready:\n{log.read_text()[-3000:]}")


def rewritten(ports: dict[str, int], listen: int, folder: Path) -> str:
    """The configuration of nginx, for the ports of this test."""
    text = (DEPLOY / "nginx.conf").read_text("utf-8").replace("/tmp/", f"{folder}/").replace("/dev/stdout", f"{folder}/access")
    text = text.replace("listen 8080;", f"listen 127.0.0.1:{listen};").replace("worker_processes auto;", "worker_processes 1;")
    for name, port in ports.items():
        assert f"server {address(name)}:8321 " in text
        text = text.replace(f"server {address(name)}:8321 ", f"server 127.0.0.1:{port} ")
    return text.replace("worker_rlimit_nofile 32768;", "").replace("worker_connections 8192;", "worker_connections 512;")


@contextmanager
def deployed(door: Door, tmp_path: Path) -> Iterator[str]:
    """Everything of `compose.yaml` as processes of this machine: the address of nginx."""
    from tests.with_services import Missing, binary, redis

    try:
        nginx = binary("nginx", "/usr/sbin")
        home = tmp_path / "redis"
        home.mkdir()
        servers = [name for name, service in OURS.items() if service["command"][0] == "serve"]
        front, *ports = free_ports(1 + len(servers))
        places = dict(zip(servers, ports, strict=True))
        with ExitStack() as stack:
            url = stack.enter_context(database("postgresql"))
            door.env["ZENO_DATABASE_URL"], door.env["ZENO_REDIS_URL"] = str(url), stack.enter_context(redis(home))
            for name, service in OURS.items():
                more = {"ZENO_SERVER__PORT": str(places[name])} if name in places else {}
                command = [ZENO, *("127.0.0.1" if word == "0.0.0.0" else word for word in service["command"])]
                stack.enter_context(process(command, door.environment() | more, tmp_path / f"{name}.log", door.here))
            for name, port in places.items():
                ready(f"http://127.0.0.1:{port}/readyz", tmp_path / f"{name}.log")
            conf = tmp_path / "nginx.conf"
            conf.write_text(rewritten(places, front, tmp_path), "utf-8")
            own = ["-g", "daemon off;" + (" user root;" if os.geteuid() == 0 else "")]
            stack.enter_context(process([nginx, "-c", str(conf), *own], dict(os.environ), tmp_path / "nginx.log", door.here))
            ready(f"http://127.0.0.1:{front}/readyz", tmp_path / "nginx.log")
            yield f"http://127.0.0.1:{front}"
    except Missing as missing:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(missing))


def bounded(lines: Iterator[str]) -> Iterator[str]:
    """The lines of a stream, for as long as a test may take; heartbeats see to it that there is always a next one."""
    deadline = time.monotonic() + BOUND
    for line in lines:
        assert time.monotonic() < deadline, "nothing more happened in the run"
        yield line


@pytest.mark.slow
def test_a_run_with_an_approval_goes_through_the_whole_deployment(door: Door, tmp_path: Path) -> None:
    door.with_tools(HOLD)
    door.env["ZENO_MODEL"] = door.script(calls(call("send_mail", to="a@example.com", text="hi")), {"text": "Sent."})
    door.env["ZENO_TOKEN"] = TOKEN
    with deployed(door, tmp_path) as origin:
        own = {"Authorization": f"Bearer {TOKEN}"}
        with httpx2.Client(base_url=origin, headers=own, timeout=BOUND, trust_env=False) as client:
            assert client.get("/metrics").status_code == 404
            started = client.post("/api/v1/runs", json={"text": "mail"})
            assert started.status_code == 202, started.text
            run = started.json()["run_id"]
            with client.stream("GET", f"/api/v1/runs/{run}/events") as stream:
                told = parsed(bounded(stream.iter_lines()))
                kinds = [next(told)["type"]]
                while kinds[-1] != "run_paused":
                    kinds.append(next(told)["type"])
                # The stream is still open: what has come so far was not held back.
                (approval,) = client.get("/api/v1/approvals").json()["approvals"]
                decided = client.post(f"/api/v1/approvals/{approval['id']}/decision", json={"decision": "approve"})
                assert decided.status_code == 200, decided.text
                kinds += [event["type"] for event in told]
            assert kinds[-1] == "run_ended"
            assert client.get(f"/api/v1/runs/{run}").json()["ending"] == "answered"
            for _ in range(30):
                assert client.get(f"/api/v1/runs/{run}").status_code == 200
        checked = json.loads(door.zeno("doctor", "--deployment", "--json").out)
        assert {name for name, finding in checked.items() if finding["state"] == "broken"} == set()
    lines = (tmp_path / "access").read_text().splitlines()
    asked = {line.rsplit(" ", 1)[-1] for line in lines}
    assert len(asked - {"-"}) == 3, "every server has had its share"
