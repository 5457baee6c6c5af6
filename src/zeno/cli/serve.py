"""`zeno serve`: the API and the page, and the runs that they are asked for."""

import asyncio
import importlib.util
import sys
from contextlib import AbstractAsyncContextManager
from urllib.parse import quote

from zeno.app import App, opened
from zeno.cli.edge import enter
from zeno.cli.logs import configure_service_logs
from zeno.i18n import text
from zeno.settings import Settings


def serve(requested: str | None, host: str | None, port: int | None, *, worker: bool | None = None) -> int:
    """Serve until told to end. `host` and `port` beat the settings; port 0 is any free one."""

    def opening(settings: Settings) -> AbstractAsyncContextManager[App]:
        given = {name: value for name, value in (("host", host), ("port", port)) if value is not None}
        own = settings.server.model_copy(update=given)
        drives = settings.worker if worker is None else worker
        return _opened(settings.model_copy(update={"server": own, "worker": drives}))

    _take_the_quick_loop()
    return enter(requested, _serve, opening)


def _opened(settings: Settings) -> AbstractAsyncContextManager[App]:
    from zeno.server.hosts import ensure_safe_to_listen

    ensure_safe_to_listen(settings.server)
    configure_service_logs(settings)
    return opened(settings, serving=True)


async def _serve(app: App, language: str) -> int:
    from zeno.server.serving import serving
    from zeno.server.tokens import local_token

    own = app.settings.server
    token = local_token(app.settings) if own.auth == "local" else ""

    def announce(port: int) -> None:
        sys.stdout.write(text(language, "server.serve.listening", url=_address(own.host, port, token)) + "\n")
        sys.stdout.flush()

    await serving(app, own.host, own.port, announce)
    return 0


def _address(host: str, port: int, token: str) -> str:
    """Where a browser of this machine finds the page, logged in."""
    name = {"0.0.0.0": "127.0.0.1", "::": "[::1]", "": "127.0.0.1"}.get(host, f"[{host}]" if ":" in host else host)  # noqa: S104
    # Behind the fragment sign, which browsers keep to themselves: no server's log has the token.
    return f"http://{name}:{port}/" + (f"#token={quote(token, safe='')}" if token else "")


def _take_the_quick_loop() -> None:
    """Use uvloop where it is installed."""
    if sys.version_info < (3, 14) and importlib.util.find_spec("uvloop"):
        import uvloop

        asyncio.set_event_loop_policy(uvloop.EventLoopPolicy())
