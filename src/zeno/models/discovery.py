"""Finding a model that nobody configured: an OpenAI-compatible server on a loopback port."""

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import httpx2

PATIENCE = 0.4
"""Seconds that a server on this machine has to answer."""


async def local_model(ports: Sequence[int]) -> str | None:
    """The name of the first model found, in the order of `ports`, or `None`."""
    import httpx2

    # Proxies are for the outside; this question never leaves the machine.
    async with httpx2.AsyncClient(timeout=PATIENCE, trust_env=False) as http:
        urls = [f"http://127.0.0.1:{port}/v1" for port in ports]
        found = await asyncio.gather(*(_first_model(http, url) for url in urls))
    return next((f"openai:{model}@{url}" for url, model in zip(urls, found, strict=True) if model), None)


async def _first_model(http: "httpx2.AsyncClient", base_url: str) -> str | None:
    import httpx2

    try:
        response = await http.get(f"{base_url}/models")
        listing: Any = response.json() if response.status_code == httpx2.codes.OK else None
        names = [str(entry["id"]) for entry in listing["data"]] if listing else []
    except (httpx2.HTTPError, ValueError, KeyError, TypeError):
        return None
    return next((name for name in names if "embed" not in name.lower()), None)
