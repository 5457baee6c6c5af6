"""What the settings name, made: models, tools, rules, prices. `app` puts it together with the rest of the house."""

from collections.abc import Sequence
from contextlib import AsyncExitStack

from zeno.core.policy import Rule
from zeno.core.ports import Tool
from zeno.models.profile import Profiles
from zeno.models.registry import Endpoint, ModelChoice, Models
from zeno.models.transport import Timeouts
from zeno.models.writer import written
from zeno.runs.clock import iso, now
from zeno.runs.cost import Price
from zeno.settings import EndpointSettings, MailSettings, ModelSettings, PriceSettings, RuleSettings, Settings
from zeno.tools.builtin.generate import generate_text_tool
from zeno.tools.builtin.mail import MailServer
from zeno.tools.catalog import Surroundings, toolset
from zeno.tools.guards import guarded


def rules_of(own: Sequence[RuleSettings]) -> tuple[Rule, ...]:
    """The rules as the policy knows them."""
    return tuple(Rule(rule.verdict, rule.tool, rule.arguments, rule.approver) for rule in own)


def price_of(own: PriceSettings) -> Price:
    """A price; reading from the cache costs as much as reading anew unless it says otherwise."""
    return Price(own.input, own.output, own.input if own.cached is None else own.cached)


def models_of(settings: Settings, closing: AsyncExitStack, *, strict: bool) -> Models:
    """The models of the settings. `strict`: a script has to be used up in the end."""
    return Models(
        closing=closing,
        strict=strict,
        endpoints=_endpoints(settings),
        choices={name: choice_of(settings, own) for name, own in settings.models.items()},
        profiles=Profiles(settings.home / "profiles.json"),
    )


def _endpoints(settings: Settings) -> dict[str, Endpoint]:
    openai, anthropic = _endpoint(settings.openai), _endpoint(settings.anthropic)
    return {"openai": openai, "responses": openai, "anthropic": anthropic}


def _endpoint(own: EndpointSettings) -> Endpoint:
    return Endpoint(base_url=own.base_url or "", api_key=own.api_key.get_secret_value())


def choice_of(settings: Settings, own: ModelSettings) -> ModelChoice:
    """A model of the settings as the registry knows it."""
    configured = _endpoints(settings)[own.family]
    key = own.api_key.get_secret_value() if own.api_key else ""
    # The family's key is for the family's endpoint; another address needs a key of its own.
    elsewhere = own.base_url and own.base_url.rstrip("/") != configured.base_url.rstrip("/")
    return ModelChoice(
        family=own.family,
        model=own.model,
        endpoint=Endpoint(
            base_url=own.base_url or configured.base_url, api_key=key or ("" if elsewhere else configured.api_key)
        ),
        protocol=own.protocol,
        timeouts=Timeouts(
            connect=own.connect_timeout, first=own.first_timeout, between=own.between_timeout, total=own.total_timeout
        ),
        fallback=tuple(own.fallback),
    )


def _mail(own: MailSettings) -> MailServer:
    return MailServer(**own.model_dump(exclude={"password"}), password=own.password.get_secret_value())


def tools_of(settings: Settings, models: Models) -> dict[str, Tool]:
    """All tools, each in its guards. Raises `ConfigError`."""
    own = settings.tools
    surroundings = Surroundings(
        weather_forecast_url=own.weather_forecast_url,
        weather_geocoding_url=own.weather_geocoding_url,
        dns_nameservers=own.dns_nameservers,
        dns_port=own.dns_port,
        now=now,
        http_allowed=own.http_allowed,
        databases={name: url.get_secret_value() for name, url in own.databases.items()},
        mail=_mail(own.mail) if own.mail else None,
    )
    tools = toolset(surroundings, own.modules)
    if name := settings.text_model:
        models.client(name)
        # Asked for anew each time: a model that was saved on the page may be saved again.
        writer = generate_text_tool(lambda instruction, text, ctx: written(models.client(name), instruction, text, ctx))
        tools[writer.spec.name] = writer
    return {
        name: guarded(tool, seconds=own.timeout, characters=own.result_characters, now=lambda: iso(now()))
        for name, tool in tools.items()
    }
