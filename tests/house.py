"""The public door for tests of what people decide: a house that serves, asked by HTTP in this process."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2

from tests.instances import AnyInstance, doors, instances, placed
from tests.scene import BOUND
from zeno.app import App
from zeno.cli.logs import configure_logs
from zeno.server.tokens import local_token
from zeno.settings import Settings

ORIGIN = "http://127.0.0.1:8321"


@dataclass(frozen=True)
class House:
    """An open house and its one user's client."""

    app: App
    client: httpx2.AsyncClient
    home: Path

    async def session(self) -> str:
        """A new conversation."""
        answer = await self.client.post("/api/v1/sessions", json={})
        assert answer.status_code == 201, answer.text
        return str(answer.json()["id"])

    async def say(self, session: str, text: str = "go", **more: Any) -> str:
        """A task: the id of its run."""
        answer = await self.client.post(f"/api/v1/sessions/{session}/runs", json={"text": text, **more})
        assert answer.status_code == 202, answer.text
        return str(answer.json()["run_id"])

    async def run(self, text: str = "go", **more: Any) -> str:
        """A task in a conversation of its own."""
        return await self.say(await self.session(), text, **more)

    async def settled(self, run: str, *endings: str) -> dict[str, Any]:
        """The run as it is when it has ended or paused, in one of these ways if any are given."""
        while True:
            report = await self.report(run)
            if report["ending"] in endings or (not endings and report["ending"]):
                return report
            assert report["ended_at"] is None, f"it ended otherwise: {report}"
            # The bound is the scene's; a run of this process has its turn meanwhile.
            await asyncio.sleep(0.01)

    async def report(self, run: str) -> dict[str, Any]:
        """What the API tells of a run."""
        answer = await self.client.get(f"/api/v1/runs/{run}")
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    async def events(self, run: str) -> list[dict[str, Any]]:
        """The events so far."""
        answer = await self.client.get(f"/api/v1/runs/{run}/events", params={"format": "json", "limit": 1000})
        assert answer.status_code == 200, answer.text
        return list(answer.json()["events"])

    async def of(self, run: str, kind: str) -> list[dict[str, Any]]:
        """The events of one type."""
        return [event for event in await self.events(run) if event["type"] == kind]

    async def waiting(self, run: str | None = None) -> list[dict[str, Any]]:
        """The inbox of approvals, the oldest first."""
        answer = await self.client.get("/api/v1/approvals", params={"run": run} if run else {})
        assert answer.status_code == 200, answer.text
        return list(answer.json()["approvals"])

    async def decide(self, approval: str, decision: str, **more: Any) -> httpx2.Response:
        """A click."""
        body = {"decision": decision, **more}
        return await self.client.post(f"/api/v1/approvals/{approval}/decision", json=body)

    async def command(self, run: str, **command: Any) -> httpx2.Response:
        """A command for a run."""
        return await self.client.post(f"/api/v1/runs/{run}/commands", json=command)


def furnished(home: Path, replies: Sequence[dict[str, Any]], tools: str = "", **settings: Any) -> Settings:
    """Settings of a house whose model says these things, with tools of the test's own."""
    home.mkdir(parents=True, exist_ok=True)
    script, own = home / "script.jsonl", home / "own_tools.py"
    script.write_text("\n".join(json.dumps(reply, ensure_ascii=False) for reply in replies), "utf-8")
    own.write_text(f"from zeno.tools.function import tool\nfrom zeno.core.ports import ToolContext\n{tools}", "utf-8")
    modules: dict[str, Any] = {"tools": {"modules": [str(own)]}} if tools else {}
    quick: dict[str, Any] = {"server": {"rate_limit": "1000000/minute"}}
    return Settings(**{"home": home, "model": f"scripted:{script}"} | quick | modules | placed() | settings)


@asynccontextmanager
async def served(settings: Settings) -> AsyncIterator[House]:
    """A house that drives its runs and answers: one instance, or as many as the test at work is to have."""
    configure_logs("error")
    async with instances(settings) as apps:
        own = {"Authorization": f"Bearer {local_token(settings)}"}
        transport = AnyInstance(doors(apps))
        async with httpx2.AsyncClient(transport=transport, base_url=ORIGIN, headers=own, timeout=BOUND) as client:
            yield House(apps[0], client, settings.home)
