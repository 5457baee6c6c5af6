"""Fixtures that every test may use."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from tests.databases import THREE, database
from tests.door import Door

# Machines that run tests are shared: how long an example takes says nothing. The same examples each time, no files left.
settings.register_profile("zeno", deadline=None, derandomize=True, database=None)
settings.load_profile("zeno")


@pytest.fixture
def door(tmp_path: Path) -> Door:
    """A user's shell in an empty directory."""
    here = tmp_path / "here"
    here.mkdir()
    return Door(home=tmp_path / "home", here=here)


EVERY_DATABASE = ["sqlite", *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("postgresql", "mariadb", THREE))]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test marked `databases` runs on each, one marked `instances` on one instance and on three, unless it is for one."""
    only_one = metafunc.definition.get_closest_marker("one_instance")
    if metafunc.definition.get_closest_marker("databases"):
        metafunc.parametrize("own_database", EVERY_DATABASE[:-1] if only_one else EVERY_DATABASE, indirect=True)
    elif metafunc.definition.get_closest_marker("instances") and not only_one:
        metafunc.parametrize("own_database", ["sqlite", pytest.param(THREE, marks=pytest.mark.slow)], indirect=True)


@pytest.fixture(autouse=True)
def own_database(request: pytest.FixtureRequest) -> Iterator[str | None]:
    """A fresh database of the kind asked for, which the houses of the test use."""
    with database(getattr(request, "param", "sqlite")) as url:
        yield url


def pytest_runtest_setup(item: pytest.Item) -> None:
    """A test that needs LibreOffice is skipped where there is none, and fails for want of it where everything must run."""
    if item.get_closest_marker("office") and not (shutil.which("soffice") and shutil.which("pdftoppm")):
        reason = "LibreOffice (soffice) or pdftoppm is not installed"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
