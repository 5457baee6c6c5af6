"""How long one waits before anything happens: CPU seconds of `import zeno` and `zeno --help`, and what their imports cost."""

import resource
import subprocess
import sys
from pathlib import Path

RUNS = 7
ZENO = str(Path(sys.executable).parent / "zeno")
COMMANDS = {
    "python -c pass": [sys.executable, "-c", "pass"],
    "import zeno": [sys.executable, "-c", "import zeno"],
    "import zeno.core.loop": [sys.executable, "-c", "import zeno.core.loop"],
    "zeno --help": [ZENO, "--help"],
    "zeno tools": [ZENO, "tools"],
}
MOST_IMPORTS = 12


def cpu_seconds(command: list[str]) -> float:
    """User and system time of one run."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def import_profile() -> list[tuple[int, str]]:
    """The dearest imports of `zeno --help`: microseconds of their own, and their names."""
    code = "import sys; sys.argv = ['zeno', '--help']; from zeno.cli.main import main; main()"
    told = subprocess.run([sys.executable, "-X", "importtime", "-c", code], capture_output=True, text=True, check=False).stderr
    rows = [line.removeprefix("import time:").split("|") for line in told.splitlines() if line.startswith("import time:")]
    return sorted(((int(own), name.strip()) for own, _, name in rows if own.strip().isdigit()), reverse=True)[:MOST_IMPORTS]


def main() -> None:
    """Print both tables."""
    print("| command | CPU s, median | least |\n|---|---|---|")
    for name, command in COMMANDS.items():
        times = sorted(cpu_seconds(command) for _ in range(RUNS))
        print(f"| {name} | {times[RUNS // 2]:.3f} | {times[0]:.3f} |")
    print("\n| import of `zeno --help` | own us |\n|---|---|")
    for own, name in import_profile():
        print(f"| {name} | {own} |")


if __name__ == "__main__":
    main()
