"""The image is built from what the ignore file lets through, and from nothing else: no engine is needed to see that.

The stages are played in a directory: what they copy is copied, what they build is built, and only what fetches is left out.
"""

import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path, PurePosixPath

import pytest

from tests.architecture.source import ROOT

DOCKERFILE = (ROOT / "deploy" / "Dockerfile").read_text("utf-8")
IGNORED = [
    line for line in (ROOT / "deploy" / "Dockerfile.dockerignore").read_text("utf-8").splitlines() if line[:1] not in "#"
]
FETCHES = ("npm ci", "python -m venv", "pip --python", "/opt/zeno/bin/python -m compileall")
"""How commands begin that fetch packages, or stand on those."""

Step = tuple[str, list[str]]


def sent(path: str) -> bool:
    """Whether the file is part of the context: the last pattern counts that it, or a directory that it is in, fits."""
    stations = [str(station) for station in (PurePosixPath(path), *PurePosixPath(path).parents)]
    fitting = [line for line in IGNORED if any(re.fullmatch(expression(line.removeprefix("!")), each) for each in stations)]
    return not fitting or fitting[-1].startswith("!")


def expression(pattern: str) -> str:
    """A pattern of an ignore file as a regular expression."""
    parts = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    return "".join(parts.get(piece) or re.escape(piece) for piece in re.split(r"(\*\*/|\*\*|\*|\?)", pattern.strip("/")))


def context() -> Iterator[str]:
    """Every file that would be sent. No exception lies below a directory that is left out, so these are not looked into."""
    for folder, folders, names in os.walk(ROOT):
        inside = Path(folder).relative_to(ROOT)
        folders[:] = [name for name in folders if sent((inside / name).as_posix())]
        yield from (path for name in names if sent(path := (inside / name).as_posix()))


def stages() -> dict[str, list[Step]]:
    """What each named stage does: words and what comes after them."""
    found: dict[str, list[Step]] = {}
    lines = re.sub(r"^#.*\n", "", DOCKERFILE, flags=re.MULTILINE).replace("\\\n", "").splitlines()
    for word, *rest in (line.split() for line in lines if line):
        if word == "FROM":
            found[rest[-1]] = []
        else:
            found[next(reversed(found))].append((word, rest))
    return found


def copy(sources: list[Path], target: Path) -> None:
    """Copy as COPY does: of directories what is in them."""
    target.mkdir(parents=True, exist_ok=True)
    for source in sources:
        if source.is_dir():
            shutil.copytree(source, target, dirs_exist_ok=True)
        else:
            shutil.copy(source, target)


def play(stage: str, sent_files: Path, stages_at: Path) -> None:
    """Do what the stage does in a directory of its own, with the Python and the packages of this machine."""
    here = stages_at / stage
    for word, rest in stages()[stage]:
        if word == "WORKDIR":
            here = stages_at / stage / rest[0].strip("/")
            here.mkdir(parents=True)
        elif word == "COPY":
            origin = stages_at / rest.pop(0).removeprefix("--from=") if rest[0].startswith("--from=") else sent_files
            copy([origin / source.strip("/") for source in rest[:-1]], here / rest[-1])
        elif word == "RUN":
            for command in " ".join(rest).split(" && "):
                if command == "npm ci":
                    (here / "node_modules").symlink_to(ROOT / "web" / "node_modules")
                elif not command.startswith(FETCHES):
                    run(command, here)


def run(command: str, here: Path) -> None:
    """Run it, with nothing to fetch from."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    words = command.replace("/opt/zeno/bin/python", sys.executable).split()
    env = os.environ | {"PATH": path, "PIP_NO_INDEX": "1", "npm_config_offline": "true"}
    done = subprocess.run(words, cwd=here, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"


def test_what_is_private_or_built_here_is_not_sent() -> None:
    for path in (
        ".git/config", ".venv/bin/python", ".zeno/token", "deploy/.env", "src/zeno/core/__pycache__/loop.pyc",
        "src/zeno/web/index.html", "tests/door.py", "web/node_modules/vue/index.js", "zeno.toml",
    ):  # fmt: skip
        assert not sent(path), path
    assert sent("src/zeno/core/loop.py")
    assert sent("web/src/main.ts")


def pins(lock: str) -> set[str]:
    """What a lock file pins, such as `idna==3.20`. Nothing else may be in it but hashes and comments."""
    lines = [line.removesuffix("\\").strip() for line in (ROOT / lock).read_text("utf-8").splitlines()]
    lines = [line for line in lines if not line.startswith("#")]
    assert all(line.startswith("--hash=sha256:") or re.match(r"[a-z0-9.-]+==\S+( ; |$)", line) for line in lines)
    assert all(after.startswith("--hash=") for line, after in pairwise(lines) if not line.startswith("--hash="))
    return {line.partition(" ")[0] for line in lines if not line.startswith("--hash=")}


def test_it_installs_what_is_locked_with_the_extra_for_traces_and_what_builds_the_wheel() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    extra, groups = project["project"]["optional-dependencies"]["otel"], project["dependency-groups"]
    assert extra == groups["otel"]
    slim, traces = re.findall(r"--require-hashes \S+ \S+ -r (\S+)", DOCKERFILE)
    wanted = {re.split(r"[\[<>=;]", each)[0] for each in (*project["project"]["dependencies"], *extra, *groups["build"])}
    assert wanted <= {pin.partition("==")[0] for pin in pins(slim) | pins(traces)}
    assert not [pin for pin in pins(slim) if pin.startswith("opentelemetry-sdk")]
    assert pins(slim) | pins(traces) <= pins("requirements-dev.lock"), "what was tested is what is installed"


@pytest.mark.slow
def test_its_stages_find_what_they_need_and_the_wheel_has_the_page(tmp_path: Path) -> None:
    given = tmp_path / "context"
    for path in context():
        (given / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / path, given / path)
    for stage in ("page", "build"):
        play(stage, given, tmp_path)
    (wheel,) = (tmp_path / "build" / "build" / "wheels").glob("*.whl")
    held = set(zipfile.ZipFile(wheel).namelist())
    assert {"zeno/web/index.html", "zeno/cli/main.py", "zeno/locales/zh-CN/cli.toml", "zeno/stores/migrations/env.py"} <= held
    assert not [name for name in held if "node_modules" in name or name.startswith("web/")]
