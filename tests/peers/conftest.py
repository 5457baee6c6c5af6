"""Real model servers, started for the tests that ask for them. Nothing here is collected unless ZENO_PEERS is 1."""

import os
import secrets
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.door import Door

HERE = Path(__file__).parent
INSTALLED = HERE.parents[1] / "build" / "peers"
PATIENCE = 90
"""Seconds a server may take until it answers."""


def pytest_ignore_collect() -> bool | None:
    """Left out unless wanted, so that a run without the servers skips nothing."""
    return None if os.environ.get("ZENO_PEERS") == "1" else True


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "peers: needs real model servers, see tests/peers/README.md")


@dataclass(frozen=True)
class Peer:
    """A server that is running: whose it is, its address and the key to it."""

    name: str
    url: str
    key: str

    def settings(self, door: Door, family: str, model: str) -> str:
        """Tell Zeno of a model of this server: the name to call it by."""
        lines = [f'family = "{family}"', f'model = "{model}"', f'base_url = "{self.url}/v1"', f'api_key = "{self.key}"']
        (door.here / "zeno.toml").write_text("\n".join(["[models.peer]", *lines]))
        return "peer"

    def get(self, path: str) -> str:
        """What the server says at a path."""
        asked = urllib.request.Request(self.url + path, headers={"authorization": f"Bearer {self.key}"})
        with urllib.request.urlopen(asked, timeout=5) as answer:
            return str(answer.read().decode())


@pytest.fixture(scope="session")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Peer]:
    """llama.cpp's own server with the written model."""
    model = tmp_path_factory.mktemp("model") / "written.gguf"
    subprocess.run([_installed("llama", "python"), HERE / "written_model.py", model], check=True, timeout=60)
    peer = _peer("llama.cpp")
    command = [_installed("llama", "python"), HERE / "llama_server.py", model, peer.url.rpartition(":")[2]]
    with _running(command, {"LLAMA_KEY": peer.key}, peer, "/health", model.with_suffix(".log")):
        yield peer


@pytest.fixture(scope="session")
def gateway(llama: Peer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Peer]:
    """LiteLLM's proxy: a made-up model of its own, and llama.cpp's behind it."""
    peer = _peer("LiteLLM")
    environment = {
        "LLAMA_URL": f"{llama.url}/v1",
        "LLAMA_KEY": llama.key,
        "LITELLM_MASTER_KEY": peer.key,
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    }
    address = ["--host", "127.0.0.1", "--port", peer.url.rpartition(":")[2]]
    command = [_installed("litellm", "litellm"), "--config", HERE / "litellm.yaml", *address]
    log = tmp_path_factory.mktemp("gateway") / "litellm.log"
    with _running(command, environment, peer, "/health/liveliness", log):
        yield peer


def _installed(name: str, program: str) -> Path:
    path = INSTALLED / name / "bin" / program
    if not path.exists():
        pytest.skip(f"{name} is not installed: run tests/peers/setup.sh")
    return path


def _peer(name: str) -> Peer:
    """A server to be started on a free port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return Peer(name, f"http://127.0.0.1:{probe.getsockname()[1]}", f"sk-{secrets.token_hex(24)}")


@contextmanager
def _running(command: list[str | Path], environment: Mapping[str, str], peer: Peer, health: str, log: Path) -> Iterator[None]:
    """A server at work, for as long as the block lasts; its log is shown when it does not come up."""
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, env=dict(os.environ) | {**environment})
        try:
            _await(process, peer, health, log)
            yield
        finally:
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _await(process: subprocess.Popen[bytes], peer: Peer, health: str, log: Path) -> None:
    deadline = time.monotonic() + PATIENCE
    while process.poll() is None and time.monotonic() < deadline:
        try:
            peer.get(health)
            return
        except OSError:
            time.sleep(0.1)
    raise RuntimeError(f"{peer.name} does not answer:\n{log.read_text()[-2000:]}")
