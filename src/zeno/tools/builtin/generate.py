"""Text from a sub-model: to draft, polish or translate is the work of a model that is good at it."""

from collections.abc import Awaitable, Callable

from zeno.core.errors import RunError, ToolFailed
from zeno.core.messages import Usage
from zeno.core.ports import ToolContext, ToolOutput
from zeno.tools.function import FunctionTool, tool

Write = Callable[[str, str, ToolContext], Awaitable[tuple[str, Usage]]]


def generate_text_tool(write: Write) -> FunctionTool:
    """The tool `generate_text` over something that writes: an instruction and a text in, a text and its cost out."""

    @tool(action="LLM_GENERATE", timeout=180)
    async def generate_text(instruction: str, ctx: ToolContext, text: str = "") -> ToolOutput:
        """Have a language model write, polish, shorten or translate a text.

        Use when the task asks for prose, a translation or a better wording. It sees only what you pass: pass all it needs.

        Args:
            instruction: What is to be written and how: kind of text, readers, tone, length, language.
            ctx: Where the call happens.
            text: The text to work on, or the facts to use.
        """
        try:
            words, usage = await write(instruction, text, ctx)
        except RunError as error:
            raise ToolFailed(f"The writing model failed: {error}. Write the text yourself.", code="text_model_failed") from None
        return ToolOutput(words, usage=usage)

    return generate_text
