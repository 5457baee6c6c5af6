"""A model that only writes: one instruction, one text, no tools and no conversation."""

from contextlib import aclosing

from zeno.core.errors import ModelUnavailable
from zeno.core.messages import Message, TextPart, Usage
from zeno.core.ports import ModelClient, ModelRequest, Reply, ToolContext

_SYSTEM = """\
You write texts for another program. Follow the instruction exactly and answer with the finished text alone: no preface, no
comment, no quotation marks around it. Use no facts and no numbers that are not given. Keep the language of the given text
unless the instruction names another."""


async def written(client: ModelClient, instruction: str, given: str, ctx: ToolContext) -> tuple[str, Usage]:
    """What the model writes, and what it cost. Raises `ModelUnavailable`, also when it writes nothing."""
    asked = f"{instruction}\n\n---\n{given}" if given else instruction
    request = ModelRequest(
        system=_SYSTEM,
        tools=(),
        messages=(Message("user", (TextPart(asked),)),),
        context="",
        run_id=ctx.run_id,
        language=ctx.language,
    )
    async with aclosing(client.stream(request)) as stream:
        async for item in stream:
            if isinstance(item, Reply) and item.message.text.strip():
                return item.message.text.strip(), item.usage
    raise ModelUnavailable("reply_incomplete")
