"""The webhook: told of every call that waits, signed, until it was taken; never told what the arguments are."""

import asyncio
import hashlib
import hmac
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import web

from tests.door import call, calls
from tests.house import furnished, served
from tests.scene import scene

pytestmark = pytest.mark.instances

ASKING = '''
@tool(effect="danger")
async def charge(account: str) -> str:
    """Charge an account. Use in tests.

    Args:
        account: The account.
    """
    return "charged"
'''


@asynccontextmanager
async def receiver(*statuses: int) -> AsyncIterator[tuple[str, "asyncio.Queue[web.Request]"]]:
    """A receiver that answers with these statuses, then with 200."""
    got: asyncio.Queue[web.Request] = asyncio.Queue()
    left = list(statuses)

    async def take(request: web.Request) -> web.Response:
        await request.read()
        await got.put(request)
        return web.Response(status=left.pop(0) if left else 200)

    app = web.Application()
    app.router.add_post("/hook", take)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = runner.addresses[0][1]
    try:
        yield f"http://127.0.0.1:{port}/hook", got
    finally:
        await runner.cleanup()


@scene
async def test_it_is_told_again_until_it_took_it_and_signed(tmp_path: Path) -> None:
    async with receiver(500) as (url, got):
        script = [calls(call("charge", account="a-secret-account")), {"text": "Done."}]
        settings = furnished(tmp_path, script, ASKING, webhook_url=url, webhook_secret="between-us")
        async with served(settings) as house:
            run = await house.run()
            await house.settled(run, "awaiting_approval")
            first, second = await got.get(), await got.get()
            body = await second.read()
            assert body == await first.read()
            signature = hmac.new(b"between-us", body, hashlib.sha256).hexdigest()
            assert second.headers["X-Zeno-Signature"] == f"sha256={signature}"
            told = json.loads(body)
            (approval,) = await house.waiting()
            assert (told["type"], told["approval_id"], told["run_id"]) == ("approval_requested", approval["id"], run)
            assert b"a-secret-account" not in body
            while await house.app.approvals.unnotified(1):
                await asyncio.sleep(0.01)
            assert got.empty()
