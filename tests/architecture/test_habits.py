"""Habits that became checks: sizes, names, and what may be touched where."""

import ast
from collections.abc import Iterator

import pytest

from tests.architecture.source import MODULES, SOURCE

LONGEST_FILE = 400
LONGEST_FUNCTION = 60
LONGEST_LOOP = 250

FORBIDDEN_NAMES = {"utils", "helpers", "common", "base", "manager", "service", "handler", "impl", "v2", "misc"}

READS_ENVIRONMENT = {"settings.py", "cli/main.py", "cli/edge.py"}
"""The settings; and the command line, whose help speaks a language before there are settings."""

READS_CLOCK = {"runs/clock.py"}


def test_there_is_source_to_check() -> None:
    assert len(MODULES) > 40


@pytest.mark.parametrize("name", MODULES)
def test_files_and_functions_stay_small(name: str) -> None:
    most = LONGEST_LOOP if name == "core/loop.py" else LONGEST_FILE
    assert len((SOURCE / name).read_text("utf-8").splitlines()) <= most
    long = [node.name for node in _functions(MODULES[name]) if (node.end_lineno or 0) - node.lineno >= LONGEST_FUNCTION]
    assert not long


@pytest.mark.parametrize("name", MODULES)
def test_modules_are_named_after_a_thing(name: str) -> None:
    assert not FORBIDDEN_NAMES & set(name.removesuffix(".py").split("/"))


@pytest.mark.parametrize("name", MODULES)
def test_modules_say_what_they_are(name: str) -> None:
    if not name.startswith("stores/migrations/versions"):
        assert ast.get_docstring(MODULES[name]), "every module begins with what this room is"


@pytest.mark.parametrize("name", MODULES)
def test_the_environment_and_the_clock_are_read_in_their_places_only(name: str) -> None:
    used = set(_attributes(MODULES[name]))
    if name not in READS_ENVIRONMENT:
        assert not used & {"os.environ", "os.getenv"}
    if name not in READS_CLOCK:
        assert not used & {"datetime.now", "datetime.utcnow", "datetime.today", "date.today", "time.time", "time.time_ns"}


@pytest.mark.parametrize("name", MODULES)
def test_public_functions_and_classes_say_what_they_mean(name: str) -> None:
    public = [
        node
        for node in MODULES[name].body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and not node.name.startswith("_")
    ]
    assert not [node.name for node in public if not ast.get_docstring(node)]


def _functions(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def _attributes(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            yield f"{node.value.id}.{node.attr}"
