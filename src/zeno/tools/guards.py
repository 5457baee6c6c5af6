"""Wrappers around a tool, each adding one concern: a time limit, failures as text, a length cap, a stamp of origin."""

import asyncio
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from zeno.core.arguments import digest
from zeno.core.errors import EffectUnknown, ToolFailed
from zeno.core.ports import Tool, ToolContext, ToolOutput, ToolSpec
from zeno.tools.workspace import confined, replacing


@dataclass(frozen=True, kw_only=True)
class Wrapper:
    """A tool around a tool: what a wrapper does not change is the inner one's."""

    tool: Tool

    @property
    def spec(self) -> ToolSpec:
        return self.tool.spec

    def check(self, args: dict[str, Any]) -> None:
        self.tool.check(args)

    async def verify(self, args: dict[str, Any], ctx: ToolContext) -> ToolOutput | None:
        return await self.tool.verify(args, ctx)


@dataclass(frozen=True, kw_only=True)
class TimeLimited(Wrapper):
    """Gives up on a call after the tool's own limit, or `seconds`."""

    seconds: float

    async def verify(self, args: dict[str, Any], ctx: ToolContext) -> ToolOutput | None:
        try:
            async with asyncio.timeout(self.spec.timeout or self.seconds):
                return await self.tool.verify(args, ctx)
        except TimeoutError:
            raise EffectUnknown(f"Whether {self.spec.name} took effect is unknown.", code="interrupted") from None

    async def call(self, args: dict[str, Any], ctx: ToolContext) -> ToolOutput:
        limit = self.spec.timeout or self.seconds
        try:
            async with asyncio.timeout(limit) as clock:
                return await self.tool.call(args, ctx)
        except TimeoutError:
            if not clock.expired():
                raise
            late = f"{self.spec.name} took longer than {limit:g} seconds and was given up."
            if self.spec.may_run_again:
                raise ToolFailed(f"{late} Narrow the request or try another way.", code="tool_timeout") from None
            raise EffectUnknown(
                f"{late} Whether it took effect is unknown: check before trying again.", code="tool_timeout"
            ) from None


@dataclass(frozen=True, kw_only=True)
class FailuresAsText(Wrapper):
    """Turns whatever a tool raises into a text for the model: the class, the message, advice."""

    async def verify(self, args: dict[str, Any], ctx: ToolContext) -> ToolOutput | None:
        try:
            return await self.tool.verify(args, ctx)
        except EffectUnknown:
            raise
        except Exception as error:
            raise EffectUnknown(f"Whether {self.spec.name} took effect is unknown.", code="interrupted") from error

    async def call(self, args: dict[str, Any], ctx: ToolContext) -> ToolOutput:
        try:
            return await self.tool.call(args, ctx)
        except ToolFailed:
            raise
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            raise ToolFailed(f"{self.spec.name} cancelled itself. Try another way.", code="tool_error") from None
        except (Exception, SystemExit) as error:
            what = f"{self.spec.name} failed with {type(error).__name__}: {str(error)[:500]}."
            if not self.spec.may_run_again:
                # Only a `ToolFailed` says that nothing was changed.
                told = f"{what} Whether it took effect is unknown: check before trying again, and tell the user."
                raise EffectUnknown(told, code="tool_error") from error
            advice = "Check the arguments, or try another way; if it keeps failing, tell the user which tool failed."
            raise ToolFailed(f"{what} {advice}", code="tool_error") from error


@dataclass(frozen=True, kw_only=True)
class LengthCapped(Wrapper):
    """Keeps at most `characters` of a result in front of the model; the whole text stays readable in the workspace.

    Where it cannot be kept, the call was carried out all the same: what is left out is lost, and the model is told.
    """

    characters: int

    async def call(self, args: dict[str, Any], ctx: ToolContext) -> ToolOutput:
        output = await self.tool.call(args, ctx)
        if len(output.text) <= self.characters:
            return output
        head, tail = output.text[: self.characters * 3 // 4], output.text[-self.characters // 4 :]
        kept = await asyncio.to_thread(_kept, output.text, ctx)
        note = f"\n[… {len(output.text) - len(head) - len(tail)} characters left out; {kept} …]\n"
        return replace(output, text=head + note + tail)


@dataclass(frozen=True, kw_only=True)
class Stamped(Wrapper):
    """Adds source and time, so that the model notices when it asks again for what it has. `now` gives ISO 8601 in UTC."""

    now: Callable[[], str]

    async def call(self, args: dict[str, Any], ctx: ToolContext) -> ToolOutput:
        output = await self.tool.call(args, ctx)
        return replace(output, text=f"{output.text}\n[source: {self.spec.source or self.spec.name}; at {self.now()}]")


def guarded(tool: Tool, *, seconds: float, characters: int, now: Callable[[], str]) -> Tool:
    """A tool with all guards around it."""
    limited = FailuresAsText(tool=TimeLimited(tool=tool, seconds=seconds))
    return Stamped(tool=LengthCapped(tool=limited, characters=characters), now=now)


def _kept(text: str, ctx: ToolContext) -> str:
    """Keep a whole result, and say where: the runs of a conversation share a workspace and may number their calls alike."""
    name = re.sub(r"[^A-Za-z0-9-]", "_", ctx.call_id)
    if name != ctx.call_id:
        name += f"_{digest(ctx.call_id)}"
    path = f"results/{ctx.run_id[:12]}-{name}.txt"
    try:
        with replacing(confined(ctx.workspace, path)) as draft:
            draft.write_text(text, "utf-8", errors="replace")
    except (OSError, ToolFailed) as error:
        return f"the whole text could not be kept ({error.strerror if isinstance(error, OSError) else error.code})"
    return f"the whole text is in the file {path}"
