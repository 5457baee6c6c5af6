"""Telling the outside that a person is asked: one POST for each approval, signed, until it was taken.

The message names the run, the tool and where to decide; never the arguments, which may be secret.
"""

import asyncio
import hashlib
import hmac
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec
import structlog

from zeno.runs.beside import beside
from zeno.runs.clock import iso, now
from zeno.stores.approvals import Approval, Approvals

if TYPE_CHECKING:
    import httpx2

PAUSE = 1.0
LONGEST_PAUSE = 60.0
"""Seconds between two looks; after a failure twice as long each time, up to the longest."""

TIMEOUT = 10.0
"""Seconds that the receiver may take."""

MOST = 50
"""Approvals told in one go."""

log = structlog.get_logger("zeno.runs")


@dataclass(frozen=True, kw_only=True)
class Webhook:
    """A receiver of notices. The signature is HMAC-SHA256 of the body with `secret`, as `sha256=HEX` in `X-Zeno-Signature`."""

    url: str
    secret: str
    approvals: Approvals

    def notifying(self) -> AbstractAsyncContextManager[None]:
        """Tell of every approval until the block is left. Delivered at least once; the id in the body tells repetitions."""
        return beside(self._notify_on(), "webhook")

    async def _notify_on(self) -> None:
        import httpx2

        pause = PAUSE
        async with httpx2.AsyncClient(timeout=TIMEOUT, trust_env=False) as client:
            while True:
                try:
                    for approval in await self.approvals.unnotified(MOST):
                        await self._tell(client, approval)
                    pause = PAUSE
                except Exception:
                    log.exception("webhook_failed")
                    pause = min(pause * 2, LONGEST_PAUSE)
                await asyncio.sleep(pause)

    async def _tell(self, client: "httpx2.AsyncClient", approval: Approval) -> None:
        body = msgspec.json.encode(
            {
                "type": "approval_requested",
                "approval_id": approval.id,
                "run_id": approval.run_id,
                "session_id": approval.session_id,
                "kind": approval.kind,
                "tool": approval.tool,
                "cause": approval.cause,
                "expires_at": iso(approval.expires_at),
                "decide": f"/api/v1/approvals/{approval.id}",
            }
        )
        headers = {"Content-Type": "application/json", "User-Agent": "zeno"}
        if self.secret:
            headers["X-Zeno-Signature"] = f"sha256={hmac.new(self.secret.encode(), body, hashlib.sha256).hexdigest()}"
        answer = await client.post(self.url, content=body, headers=headers)
        answer.raise_for_status()
        await self.approvals.notified(approval.id, now())
