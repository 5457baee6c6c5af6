"""The metrics, in Prometheus's text format, for whoever has the token for them or runs the installation."""

from typing import Annotated

from fastapi import APIRouter, Depends, Request
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.responses import Response

from zeno.core.errors import Forbidden
from zeno.server.auth import Gate, gate, note_refusal, principal
from zeno.server.metrics import Metrics
from zeno.server.tokens import same

router = APIRouter()


@router.get("/metrics", include_in_schema=False)
async def metrics(request: Request, gate: Annotated[Gate, Depends(gate)]) -> Response:
    """Asked every few seconds by a machine. Raises `Unauthorized` or `Forbidden`."""
    if not _has_token(request, gate):
        who = await principal(request, gate)
        if "admin" not in who.rights:
            await note_refusal(request, gate.app, who, "right_missing")
            raise Forbidden("right_missing", right="admin")
    kept: Metrics = request.app.state.metrics
    return Response(await kept.text(), headers={"cache-control": "no-store"}, media_type=CONTENT_TYPE_LATEST)


def _has_token(request: Request, gate: Gate) -> bool:
    """Whether the request carries the token that opens the metrics and nothing else."""
    token = gate.app.settings.server.metrics_token.get_secret_value()
    scheme, _, secret = request.headers.get("authorization", "").partition(" ")
    return bool(token) and scheme.lower() == "bearer" and same(secret.strip(), token)
