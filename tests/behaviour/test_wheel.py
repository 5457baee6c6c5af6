"""What is installed from a wheel is whole: the page comes along, and whoever installs it needs no Node."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.architecture.source import ROOT
from zeno.server.web import BUILT


@pytest.mark.slow
def test_a_wheel_brings_the_page_along(tmp_path: Path) -> None:
    assert (BUILT / "index.html").is_file(), "the page is not built: make page"
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    held = set(zipfile.ZipFile(wheel).namelist())
    page = {f"zeno/web/{path.relative_to(BUILT)}" for path in BUILT.rglob("*") if path.is_file()}
    assert page <= held
    assert {"zeno/locales/zh-CN/cli.toml", "zeno/stores/migrations/env.py"} <= held
    assert not [name for name in held if "node_modules" in name or name.startswith("web/")]
