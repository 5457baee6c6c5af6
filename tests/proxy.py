"""nginx in front of a port of this machine, as people put it there: nothing set but where it listens and where it passes on."""

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.scene import BOUND

NGINX = shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")


def need_nginx() -> None:
    """Skip the test where there is no nginx; fail it where everything must run."""
    if NGINX is None:
        reason = "nginx is not installed"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)


@contextmanager
def nginx(upstream: int, *directives: str) -> Iterator[Path]:
    """The socket at which it listens, for the length of the block. `directives` go into its `location`."""
    need_nginx()
    assert NGINX
    # Not pytest's directory: the path of a socket has to be short.
    with tempfile.TemporaryDirectory(prefix="nginx") as name:
        home = Path(name)
        (home / "nginx.conf").write_text(_configuration(home, upstream, directives))
        command = [NGINX, "-e", str(home / "error.log"), "-p", name, "-c", str(home / "nginx.conf")]
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        try:
            _await_listening(home / "socket", process)
            yield home / "socket"
        finally:
            process.terminate()
            process.communicate(timeout=BOUND)


def _configuration(home: Path, upstream: int, directives: tuple[str, ...]) -> str:
    temporary = "".join(f"{kind}_temp_path {home / kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    return f"""
        daemon off;
        worker_processes 1;
        pid {home / "pid"};
        {"user root;" if os.geteuid() == 0 else ""}
        events {{ worker_connections 64; }}
        http {{
            access_log off;
            {temporary}
            server {{
                listen unix:{home / "socket"};
                location / {{
                    proxy_pass http://127.0.0.1:{upstream};
                    {" ".join(f"{directive};" for directive in directives)}
                }}
            }}
        }}
    """


def _await_listening(path: Path, process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + BOUND
    while time.monotonic() < deadline:
        assert process.poll() is None, process.communicate()[1]
        with socket.socket(socket.AF_UNIX) as attempt:
            if attempt.connect_ex(str(path)) == 0:
                return
        time.sleep(0.01)
    pytest.fail("nginx does not listen")
