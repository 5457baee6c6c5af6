"""The public door for tests: the command line, in this process or as a process of its own, with a home of the test's own."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from zeno.cli.main import build

ZENO = str(Path(sys.executable).parent / "zeno")


@dataclass(frozen=True)
class Outcome:
    """What came back: exit code, output, error output."""

    code: int
    out: str
    err: str

    @property
    def events(self) -> list[dict[str, Any]]:
        """The events of `--json`."""
        return [json.loads(line) for line in self.out.split("\n") if line]

    def of(self, kind: str) -> list[dict[str, Any]]:
        """The events of one type."""
        return [event for event in self.events if event["type"] == kind]


@dataclass
class Door:
    """A user's shell: a home directory, a working directory, an environment."""

    home: Path
    here: Path
    env: dict[str, str] = field(default_factory=dict)

    def environment(self) -> dict[str, str]:
        """The environment of commands: nothing of this machine's that changes what Zeno does."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("ZENO_", "OPENAI_", "LC_", "LANG"))}
        own = {"ZENO_HOME": str(self.home), "ZENO_LOCAL_MODEL_PORTS": "[]", "LANG": "en_US.UTF-8", "COLUMNS": "200"}
        return kept | own | self.env

    def zeno(self, *arguments: str | Path, lang: str | None = None, stdin: str = "") -> Outcome:
        """Run a command in this process."""
        words = [str(word) for word in arguments] + (["--lang", lang] if lang else [])
        previous = Path.cwd()
        os.chdir(self.here)
        try:
            runner = CliRunner(env=dict.fromkeys(os.environ) | self.environment())
            result = runner.invoke(build(lang or "en-US", lang), words, input=stdin, catch_exceptions=False)
        finally:
            os.chdir(previous)
        return Outcome(result.exit_code, result.stdout, result.stderr)

    def run(self, task: str, *arguments: str | Path, lang: str | None = None) -> Outcome:
        """`zeno run TASK --json`."""
        return self.zeno("run", task, "--json", *arguments, lang=lang)

    def shell(self, *arguments: str | Path, timeout: float = 60) -> Outcome:
        """Run a command as a process of its own."""
        command = [ZENO, *map(str, arguments)]
        done = subprocess.run(
            command, cwd=self.here, env=self.environment(), capture_output=True, text=True, timeout=timeout, check=False
        )
        return Outcome(done.returncode, done.stdout, done.stderr)

    @contextmanager
    def running(self, *arguments: str | Path) -> Iterator[subprocess.Popen[str]]:
        """A command at work, its output open for reading; killed at the end if it still is."""
        process = subprocess.Popen(
            [ZENO, *map(str, arguments)],
            cwd=self.here,
            env=self.environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            yield process
        finally:
            process.kill()
            process.communicate()

    def script(self, *replies: dict[str, Any], name: str = "script.jsonl") -> str:
        """A scripted model that gives these replies: its name."""
        path = self.home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(json.dumps(reply, ensure_ascii=False) for reply in replies), "utf-8")
        return f"scripted:{path}"

    def with_tools(self, source: str) -> None:
        """Give the house tools of the user's own."""
        path = self.home / "own_tools.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"from zeno.tools.function import tool\nfrom zeno.core.ports import ToolContext\n{source}", "utf-8")
        self.env["ZENO_TOOLS__MODULES"] = json.dumps([str(path)])


def call(name: str, /, **arguments: object) -> dict[str, Any]:
    """A call in a script."""
    return {"name": name, "arguments": arguments}


def calls(*wanted: dict[str, Any], **reply: object) -> dict[str, Any]:
    """A reply in a script that calls tools."""
    return {"calls": list(wanted), **reply}


def texts(outcome: Outcome) -> Sequence[str]:
    """What the model said, reply by reply."""
    messages = (event["message"] for event in outcome.of("model_replied"))
    return ["".join(part["text"] for part in message["parts"] if part["type"] == "text") for message in messages]
