"""A typed Python function becomes a tool: schema from its hints and docstring, arguments checked before its body runs."""

import contextvars
import functools
import inspect
import re
import typing
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated, Any

import docstring_parser
import msgspec

from zeno.core.errors import ConfigError, EffectUnknown, ToolFailed
from zeno.core.ports import ActionKind, Effect, OncePer, ToolContext, ToolOutput, ToolSpec
from zeno.tools.thread import in_thread

Verifier = Callable[[dict[str, Any], ToolContext], Awaitable[ToolOutput | None]]
Body = Callable[..., str | ToolOutput | Awaitable[str | ToolOutput]]

_VAGUE_NAME = re.compile(r"(var|arg|args|param|value|data|input|x|foo|tmp)_?\d*")


@dataclass(frozen=True, kw_only=True)
class FunctionTool:
    """A tool made of a function. `arguments` is the type that the arguments are checked against."""

    spec: ToolSpec
    arguments: type[msgspec.Struct]
    body: Body
    context_name: str | None
    verifier: Verifier | None = None

    def check(self, args: dict[str, Any]) -> None:
        """Raises `ToolFailed` when the arguments do not fit."""
        self._checked(args)

    async def verify(self, args: dict[str, Any], ctx: ToolContext) -> ToolOutput | None:
        """Ask the tool's own verifier. Raises `EffectUnknown` when it has none."""
        if self.verifier is None:
            raise EffectUnknown(f"Whether {self.spec.name} took effect is unknown.", code="interrupted")
        return await self.verifier(self._checked(args), ctx)

    def verified_by(self, verifier: Verifier) -> Verifier:
        """A decorator: the function tells whether an interrupted call was carried out.

        It is given the checked arguments and the context; it returns the output if the call was carried out and `None` if it
        certainly was not, and raises `EffectUnknown` when it cannot tell.
        """
        # The one thing that cannot be given when the tool is made: it is written below the tool that it belongs to.
        object.__setattr__(self, "verifier", verifier)
        return verifier

    async def call(self, args: dict[str, Any], ctx: ToolContext) -> ToolOutput:
        """Check the arguments, then run the body: a coroutine here, a plain function in a thread.

        Raises `ToolFailed` when the arguments do not fit; the body has not run then.
        """
        keywords = self._checked(args)
        if self.context_name is not None:
            keywords[self.context_name] = ctx
        if inspect.iscoroutinefunction(self.body):
            output = await self.body(**keywords)
        else:
            run = functools.partial(contextvars.copy_context().run, self.body, **keywords)
            output = await in_thread(run, f"tool-{self.spec.name}")
        return ToolOutput(text=output) if isinstance(output, str) else output

    def _checked(self, args: dict[str, Any]) -> dict[str, Any]:
        known = self.spec.parameters["properties"]
        missing = [name for name in self.spec.parameters.get("required", ()) if name not in args]
        extra = [name for name in args if name not in known]
        problems = []
        if missing:
            problems.append(f"missing: {', '.join(missing)}")
        if extra:
            problems.append(f"not known: {', '.join(extra)}")
        try:
            values = msgspec.convert({k: v for k, v in args.items() if k in known}, self.arguments) if not missing else None
        except msgspec.ValidationError as error:
            values = None
            problems.append(str(error))
        if problems or values is None:
            raise ToolFailed(
                f"The arguments of {self.spec.name} do not fit ({'; '.join(problems)}). It takes: "
                f"{', '.join(known) or 'nothing'}. The tool has not run. Call it again with corrected arguments.",
                code="bad_arguments",
            )
        return {name: getattr(values, name) for name in known}


def tool(
    *,
    effect: Effect = "read",
    repeatable: bool = False,
    action: ActionKind = "TOOL_CALL",
    source: str = "",
    timeout: float | None = None,
    volatile: bool = False,
    key: tuple[str, ...] = (),
    once_per: OncePer = "run",
    asks: bool = False,
    untrusted: bool = False,
    outgoing: bool = False,
) -> Callable[[Body], FunctionTool]:
    """Turn the decorated function into a tool; see `function_tool`."""
    kept = {"volatile": volatile, "key": key, "once_per": once_per, "asks": asks, "untrusted": untrusted, "outgoing": outgoing}

    def make(body: Body) -> FunctionTool:
        return function_tool(body, effect=effect, repeatable=repeatable, action=action, source=source, timeout=timeout, **kept)

    return make


def function_tool(body: Body, **properties: Any) -> FunctionTool:
    """A tool named after a function; `properties` are those of its `ToolSpec`.

    The docstring (Google style) says what the tool does and when to use it; its `Args:` section describes each parameter. A
    parameter of type `ToolContext` receives the context of the call and is not shown to the model.
    """
    hints = typing.get_type_hints(body, include_extras=True)
    doc = docstring_parser.parse(inspect.getdoc(body) or "", style=docstring_parser.DocstringStyle.GOOGLE)
    context_name = next((name for name, hint in hints.items() if hint is ToolContext), None)
    fields = _fields(body, hints, {entry.arg_name: entry.description or "" for entry in doc.params}, context_name)
    arguments = msgspec.defstruct(f"{body.__name__}_arguments", fields, kw_only=True, forbid_unknown_fields=True)
    description = "\n".join(part for part in (doc.short_description, doc.long_description) if part)
    spec = ToolSpec(name=body.__name__, description=description, parameters=_schema(arguments), **properties)
    return FunctionTool(spec=spec, arguments=arguments, body=body, context_name=context_name)


def _fields(
    body: Body, hints: dict[str, Any], descriptions: dict[str, str], context_name: str | None
) -> list[tuple[str, Any] | tuple[str, Any, Any]]:
    fields: list[tuple[str, Any] | tuple[str, Any, Any]] = []
    for name, parameter in inspect.signature(body).parameters.items():
        if name != context_name:
            # Of a default that has to be copied for each call msgspec tells nothing in the schema.
            copied = isinstance(parameter.default, list | dict)
            meta = msgspec.Meta(
                description=descriptions.get(name, ""), extra_json_schema={"default": parameter.default} if copied else None
            )
            hint: Any = Annotated[hints.get(name, Any), meta]
            required = parameter.default is parameter.empty
            fields.append((name, hint) if required else (name, hint, _default(parameter.default)))
    return fields


def lint(spec: ToolSpec) -> None:
    """Refuse what a model could not choose or fill in. Raises `ConfigError` naming the tool and the fault."""
    if not re.search(r"\b[Uu]se\b", spec.description):
        raise ConfigError("tool_description_vague", tool=spec.name)
    for name, schema in spec.parameters["properties"].items():
        if _VAGUE_NAME.fullmatch(name):
            raise ConfigError("tool_parameter_vague", tool=spec.name, parameter=name)
        if not schema.get("description"):
            raise ConfigError("tool_parameter_undescribed", tool=spec.name, parameter=name)


def _default(value: Any) -> Any:
    if isinstance(value, list | dict | set):
        kind = type(value)
        return msgspec.field(default_factory=lambda: kind(value))
    return value


def _schema(arguments: type[msgspec.Struct]) -> dict[str, Any]:
    (_,), components = msgspec.json.schema_components([arguments], ref_template="{name}")
    schema: dict[str, Any] = _inlined(components[arguments.__name__], components)
    schema.pop("title", None)
    schema.setdefault("properties", {})
    schema.setdefault("required", [])
    return schema


def _inlined(node: Any, components: dict[str, Any]) -> Any:
    """`node` with every `$ref` replaced by what it points at: several providers do not follow references."""
    if isinstance(node, list):
        return [_inlined(item, components) for item in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        target = {key: value for key, value in components[node["$ref"]].items() if key != "title"}
        node = target | {key: value for key, value in node.items() if key != "$ref"}
    return {key: _inlined(value, components) for key, value in node.items()}
