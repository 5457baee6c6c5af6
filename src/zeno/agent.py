"""An agent inside a program: the same loop, with nothing kept.

    agent = Agent(model="openai:gpt-5-mini", tools=[count_stock])
    async for item in agent.stream("How many A-100 are there?"): ...

For runs that survive a crash, are listed and can be traced, open the house: `zeno.app.opened`.
"""

import tempfile
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AsyncExitStack, aclosing
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from msgspec import structs
from typing_extensions import TypeIs

from zeno.core import loop
from zeno.core.errors import ConfigError
from zeno.core.events import Event, UserSaid
from zeno.core.kit import Kit
from zeno.core.messages import FilePart, Message, TextPart
from zeno.core.policy import Policy, Rule
from zeno.core.ports import Delta, Effort, ModelClient, Tool
from zeno.core.state import RunState, apply, fold
from zeno.models.registry import FAMILIES, Endpoint, Models
from zeno.runs.clock import iso, new_id, now
from zeno.stores.memory import MemoryEffects
from zeno.tools.function import function_tool
from zeno.tools.guards import guarded


class Agent:
    """A model, tools and instructions, ready to be asked any number of times, also at the same time.

    `model` is a name as on the command line, or a client of your own; `tools` are tools or typed functions. `workspace` is the
    directory that tools work in (default: a temporary one, gone when the agent is closed). `allow_danger` permits dangerous
    tools, `rules` permit, or forbid, calls that match. `tool_timeout` is in seconds, `result_characters` caps what one result
    puts in front of the model.
    """

    def __init__(
        self,
        *,
        model: str | ModelClient,
        tools: Sequence[Tool | Callable[..., Any]] = (),
        instructions: str = "",
        base_url: str = "",
        api_key: str = "",
        workspace: Path | None = None,
        max_steps: int = 10,
        allow_danger: bool = False,
        rules: Sequence[Rule] = (),
        temperature: float = 0.2,
        max_output_tokens: int | None = None,
        effort: Effort | None = None,
        language: str = "en-US",
        tool_timeout: float = 15,
        result_characters: int = 20_000,
    ) -> None:
        self._closing = AsyncExitStack()
        endpoint = Endpoint(base_url=base_url, api_key=api_key)
        models = Models(closing=self._closing, endpoints=dict.fromkeys(FAMILIES, endpoint))
        client = models.client(model) if isinstance(model, str) else model
        named = {
            name: guarded(tool, seconds=tool_timeout, characters=result_characters, now=lambda: iso(now()))
            for name, tool in _by_name(tools).items()
        }
        if workspace is None:
            workspace = Path(self._closing.enter_context(tempfile.TemporaryDirectory(prefix="zeno-")))
        self._kit: dict[str, Any] = {
            "model": client,
            "tools": named,
            # Nobody is there to be asked: what needs a person's consent is refused, unless it was permitted beforehand.
            "policy": Policy(
                max_steps,
                {name: tool.spec for name, tool in named.items()},
                allow_danger,
                tuple(rules),
                attended=False,
                instructions=instructions,
            ),
            "workspace": workspace,
            "instructions": instructions,
            "language": language,
            "temperature": temperature,
            "max_output_tokens": max_output_tokens,
            "effort": effort,
        }

    async def stream(
        self, text: str, *, files: Sequence[FilePart] = (), history: Sequence[Message] = ()
    ) -> AsyncGenerator[Event | Delta, None]:
        """What happens, as it happens: deltas and events, the last one `RunEnded`. Closing the generator cancels the run.

        `history` is an earlier conversation, `files` lie in the workspace. Raises `RunError` when the model cannot be had.
        """
        run_id, ledger, earlier = new_id(), MemoryEffects(), tuple(history)
        own = self._kit | {"policy": structs.replace(self._kit["policy"], history=earlier), "history": earlier}
        kit = Kit(run_id=run_id, session_id=run_id, ledger=ledger, today=iso(now())[:10], **own)
        said = UserSaid((TextPart(text), *files))
        yield said
        async with aclosing(loop.run(fold([said]), kit)) as told:
            async for item in told:
                yield item

    async def run(self, text: str, *, files: Sequence[FilePart] = (), history: Sequence[Message] = ()) -> RunState:
        """The state in which the run ended: `state.messages[-1].text` is the answer. Raises as `stream` does."""
        state = RunState()
        async for item in self.stream(text, files=files, history=history):
            if not isinstance(item, Delta):
                state = apply(state, item)
        return state

    async def close(self) -> None:
        """Close the model's connections and remove the temporary workspace."""
        await self._closing.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


def _by_name(tools: Sequence[Tool | Callable[..., Any]]) -> dict[str, Tool]:
    named: dict[str, Tool] = {}
    for each in tools:
        # A plain function has promised nothing, not even that it answers the same twice.
        tool = each if _is_tool(each) else function_tool(each, volatile=True)
        if tool.spec.name in named:
            raise ConfigError("tool_twice", tool=tool.spec.name)
        named[tool.spec.name] = tool
    return named


def _is_tool(each: Tool | Callable[..., Any]) -> TypeIs[Tool]:
    return hasattr(each, "spec") and hasattr(each, "call")
