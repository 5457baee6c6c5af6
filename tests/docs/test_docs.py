"""Documents are run or generated: what they show is what happens."""

import importlib.util
import json
import re
import shlex
from pathlib import Path

import pytest

from tests.architecture.source import ROOT
from tests.door import Door
from tests.http import serving
from tests.stubs.chat_server import call_delta, chat_server, delta


def test_what_is_generated_is_up_to_date() -> None:
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs" / "generate.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for path, words in module.pages().items():
        assert path.read_text("utf-8") == words, f"{path}: run python docs/generate.py"


@pytest.mark.parametrize("readme", ["README.md", "README.zh-CN.md"])
def test_links_of_the_readme_lead_somewhere(readme: str) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)|src=\"([^\"]+)\"", (ROOT / readme).read_text("utf-8")):
        path = next(filter(None, target))
        assert "://" in path or (ROOT / path).exists(), path


def _commands(readme: str) -> list[str]:
    blocks = re.findall(r"```(?:sh|console)\n(.*?)```", (ROOT / readme).read_text("utf-8"), re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines() if line.startswith(("zeno ", ".venv/bin/zeno "))]
    return [line for line in lines if not line.startswith("zeno serve")]


@pytest.mark.parametrize("readme", ["README.md", "README.zh-CN.md"])
def test_the_readme_shows_commands(readme: str) -> None:
    assert len(_commands(readme)) >= 4


@pytest.mark.parametrize("command", _commands("README.md") + _commands("README.zh-CN.md"))
def test_commands_of_the_readme_do_what_they_say(door: Door, command: str) -> None:
    words = shlex.split(command, comments=True)[1:]
    for path in (ROOT / "examples").iterdir():
        (door.here / path.name).write_bytes(path.read_bytes())
    door.env["ZENO_MODEL"] = "offline"
    if words[0] in {"trace"}:
        door.zeno("run", "hello")
        words[1] = json.loads(door.zeno("runs", "--json").out)[0]["id"]
    outcome = door.zeno(*words)
    assert outcome.code == 0, outcome.out + outcome.err


@pytest.mark.slow
def test_the_server_of_the_readme_answers_as_it_shows(door: Door) -> None:
    (block,) = [block for block in _blocks("README.md", "sh") if "zeno serve" in block]
    asked, followed = (shlex.split(line, comments=True) for line in block.splitlines() if line.startswith("curl "))
    door.env["ZENO_MODEL"] = "offline"
    with serving(door) as server, server.client() as client:
        answer = client.post(
            server.origin + _path(asked[-1]), content=asked[asked.index("-d") + 1], headers={"Content-Type": "application/json"}
        )
        assert (answer.status_code, "1024" in answer.json()["answer"]) == (200, True)
        stream = client.get(server.origin + _path(followed[-1]).replace("RUN", answer.json()["id"]))
        assert "event: run_ended" in stream.text


def _path(address: str) -> str:
    return address.removeprefix("http://127.0.0.1:8321")


def test_the_readme_names_the_loop() -> None:
    assert "src/zeno/core/loop.py" in (ROOT / "README.md").read_text("utf-8")
    assert Path(ROOT / "src/zeno/core/loop.py").is_file()


def _blocks(readme: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", (ROOT / readme).read_text("utf-8"), re.DOTALL)


def test_the_settings_and_the_tool_of_the_readme_work(door: Door) -> None:
    (door.here / "zeno.toml").write_text("\n".join(_blocks("README.md", "toml")))
    tool = next(block for block in _blocks("README.md", "python") if "@tool" in block)
    (door.here / "my_tools.py").write_text(tool)
    shown = door.zeno("tools", "count_stock")
    assert shown.code == 0, shown.err
    assert "article" in shown.out
    greeting = door.run("hi", "--agent", "clerk", "--model", door.script({"text": "Hello."}))
    assert greeting.events[0]["tools"] == ["count_stock", "read_table"]


def test_the_library_example_of_the_readme_runs(capsys: pytest.CaptureFixture[str]) -> None:
    example = next(block for block in _blocks("README.md", "python") if "zeno.agent" in block)
    with chat_server() as server:
        server.says(call_delta(0, "a", "count_stock", '{"article": "A-100"}'))
        server.says(delta(content="There are 12."))
        here = example.replace('model="openai:gpt-5-mini"', f'model="openai:gpt-5-mini@{server.url}"')
        exec(compile(here, "README.md", "exec"), {"__name__": "readme"})
    assert capsys.readouterr().out == "There are 12.\n"
