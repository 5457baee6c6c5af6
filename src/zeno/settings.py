"""Settings: the only reader of the environment and of `zeno.toml`. A variable beats the file, the file beats the default.

Models that were saved on the page come last: a name that the operator uses is the operator's.
"""

import ipaddress
import os
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError, field_validator
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict, TomlConfigSettingsSource

from zeno.core.errors import ConfigError
from zeno.kept_models import FILE, Entries, kept

USUAL_HOME = "~/.zeno"


class RuleSettings(BaseModel):
    """What is to be done with calls that match: `[[rules]]`. `deny` beats `ask`, `ask` beats `allow`."""

    model_config = ConfigDict(extra="forbid")

    verdict: Literal["allow", "ask", "deny"]
    tool: str = Field(description="A pattern of tool names; `*` is any text.")
    arguments: dict[str, str] = Field({}, description="Patterns that the named arguments must match, all of them.")
    approver: Literal["owner", "admin"] = Field("owner", description="Who may decide when it is asked.")


class AgentSettings(BaseModel):
    """An agent of the user's: `[agents.NAME]`. What it leaves out is taken from the general settings."""

    model_config = ConfigDict(extra="forbid")

    instructions: str = ""
    model: str | None = None
    tools: list[str] | None = None
    max_steps: int | None = Field(None, ge=1, le=1000)
    temperature: float | None = Field(None, ge=0, le=2)
    effort: Literal["none", "low", "medium", "high"] | None = None
    mode: Literal["auto", "manual"] | None = Field(None, description="`manual`: a person confirms every action.")
    rules: list[RuleSettings] = Field([], description="What its calls may do, beside the general rules.")


class MailSettings(BaseModel):
    """The server that mail is handed in at: `[tools.mail]`. With it, there is the tool send_email."""

    model_config = ConfigDict(extra="forbid")

    host: str
    port: int = Field(587, ge=1, le=65535)
    security: Literal["none", "starttls", "tls"] = "starttls"
    username: str = ""
    password: SecretStr = SecretStr("")
    sender: str = Field(description="The address that mail comes from, with a name or without.")
    allowed_recipients: list[str] = Field([], description='Patterns such as "*@example.com"; empty: everybody.')


class ToolSettings(BaseModel):
    """What tools need to know of their surroundings: `[tools]`."""

    model_config = ConfigDict(extra="forbid")

    modules: list[str] = Field(
        [], description="Python modules, or paths of Python files, whose decorated functions become tools."
    )
    timeout: float = Field(15, gt=0, description="Seconds a tool may take when it does not set its own limit.")
    result_characters: int = Field(20_000, ge=500, description="Characters of a result that are put in front of the model.")
    weather_forecast_url: str = "https://api.open-meteo.com/v1/forecast"
    weather_geocoding_url: str = "https://geocoding-api.open-meteo.com/v1/search"
    dns_nameservers: list[str] = Field([], description="Name servers to ask instead of the system's.")
    dns_port: int = Field(53, ge=1, le=65535)
    http_allowed: list[str] = Field(
        [], description="Internal hosts that http_request may reach, besides all public ones: host, host:port, network/prefix."
    )
    databases: dict[str, SecretStr] = Field(
        {}, description="SQLAlchemy URLs of SQLite, PostgreSQL, MySQL or MariaDB by name: gives the agent the SQL tools."
    )
    mail: MailSettings | None = None


class RetentionSettings(BaseModel):
    """How many days things are kept: `[retention]`. What is not named is kept for ever; nothing open or paused ever goes."""

    model_config = ConfigDict(extra="forbid")

    runs_days: int | None = Field(
        None, ge=1, description="Conversations with their runs and files, from their last use, when all their runs are over."
    )
    archived_days: int | None = Field(None, ge=1, description="The same for conversations that were put away, from then on.")
    audit_days: int | None = Field(None, ge=1, description="Lines of the audit.")
    jobs_days: int | None = Field(7, ge=1, description="Commands that their runs have taken.")


class EndpointSettings(BaseModel):
    """A provider's endpoint: `[openai]` and `[anthropic]`, or the variables that the provider's own clients read."""

    model_config = ConfigDict(extra="forbid")

    base_url: str | None = None
    api_key: SecretStr = SecretStr("")
    model: str | None = None


class PriceSettings(BaseModel):
    """What a model costs per million tokens: `[prices."MODEL"]`. `cached` is for input read from the provider's cache."""

    model_config = ConfigDict(extra="forbid")

    input: float = Field(0, ge=0)
    output: float = Field(0, ge=0)
    cached: float | None = Field(None, ge=0)


class ModelSettings(BaseModel):
    """A model of the user's: `[models.NAME]`."""

    model_config = ConfigDict(extra="forbid")

    family: Literal["openai", "responses", "anthropic"] = Field("openai", description="The protocol its endpoint speaks.")
    model: str = Field(description="The provider's name of the model.")
    base_url: str | None = Field(None, description="The endpoint's address; empty: the family's configured one.")
    api_key: SecretStr | None = Field(None, description="The key; empty: that of the family's configured endpoint.")
    protocol: Literal["auto", "native", "prompted"] = Field("auto", description="Native tool calls, or the prompted protocol.")
    fallback: list[str] = Field([], description="Models that stand in when this one cannot be had.")
    connect_timeout: float = Field(10, gt=0, description="Seconds.")
    first_timeout: float = Field(120, gt=0, description="Seconds until the first token.")
    between_timeout: float = Field(60, gt=0, description="Seconds between two tokens.")
    total_timeout: float = Field(900, gt=0, description="Seconds for a whole reply.")


class PageModel(ModelSettings):
    """A model that was saved on the page. `default`: it is taken when none is named and the operator named none either."""

    default: bool = False


def page_models(entries: Entries) -> dict[str, PageModel]:
    """Models that were saved on the page. Raises `ValueError` naming what is wrong, never its value."""
    try:
        return {name: PageModel(**own) for name, own in entries.items()}
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        raise ValueError(f"{FILE}: {'.'.join(map(str, first['loc']))}: {first['msg']}") from None


class ServerSettings(BaseModel):
    """How `zeno serve` listens and whom it lets in: `[server]`."""

    model_config = ConfigDict(extra="forbid")

    host: str = Field("127.0.0.1", description="The address to listen on.")
    port: int = Field(8321, ge=0, le=65535)
    auth: Literal["local", "team"] = Field("local", description="`local`: one user with a token; `team`: users with accounts.")
    token: SecretStr = Field(
        SecretStr(""), description="The token of `local`, also `ZENO_TOKEN`; empty: one is made and kept in the home directory."
    )
    allowed_hosts: list[str] = Field(
        [], description="Names under which the server is reached, such as `zeno.example.com` or `*.example.com`."
    )
    cors_origins: list[str] = Field([], description="Origins of other sites whose pages may call the API.")
    max_body: int = Field(2**20, ge=1024, description="Bytes a request may have.")
    max_upload: int = Field(100 * 2**20, ge=1024, description="Bytes a request that brings files may have.")
    rate_limit: str = Field(
        "600/minute", description="Requests allowed to each user, or to each address while nobody is known."
    )
    login_rate_limit: str = Field("10/minute", description="Attempts to log in allowed to each address.")
    metrics_token: SecretStr = Field(
        SecretStr(""), description="Opens `/metrics`, and nothing else; without it an admin's token does."
    )
    trusted_proxies: list[str] = Field(
        [], description="Addresses or networks of proxies whose word counts on where a request comes from."
    )

    @field_validator("rate_limit", "login_rate_limit")
    @classmethod
    def _rate(cls, value: str) -> str:
        from limits import parse

        try:
            parse(value)
        except ValueError:
            raise ValueError("a number and a unit of time, such as 600/minute") from None
        return value

    @field_validator("trusted_proxies")
    @classmethod
    def _networks(cls, value: list[str]) -> list[str]:
        try:
            return [str(ipaddress.ip_network(entry)) for entry in value]
        except ValueError:
            raise ValueError("addresses or networks, such as 10.0.0.0/8") from None


class PageSource(PydanticBaseSettingsSource):
    """The models that were saved on the page. Under a name that another source uses they do not count at all."""

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:
        """Nothing: the models come all at once."""
        return None, field_name, False

    def __call__(self) -> dict[str, Any]:
        """What was saved. Raises `ValueError` when the file is damaged."""
        home = Path(self.current_state.get("home") or USUAL_HOME).expanduser()
        # Values and not tables, which would be mixed with what another source says of the name.
        return {"models": page_models(kept(home))}


class Settings(BaseSettings):
    """All settings. Variables are named `ZENO_<NAME>`, nested ones `ZENO_<TABLE>__<NAME>`."""

    model_config = SettingsConfigDict(env_prefix="ZENO_", env_nested_delimiter="__", extra="forbid")

    home: Path = Field(Path(USUAL_HOME), description="Where the database and the files of runs are kept.")
    database_url: str | None = Field(
        None, description="`postgresql://...` for several instances, `mariadb://...` for one; empty: a SQLite file in the home."
    )
    redis_url: SecretStr | None = Field(
        None, description="Redis for live streams, wake-ups and rate limits of several instances; speed, never truth."
    )
    model: str | None = Field(None, description="`offline`, `scripted:FILE` or `openai:NAME`; empty: the best one found.")
    local_model_ports: list[int] = Field(
        [11434, 1234, 8000, 8080, 30000],
        description="Loopback ports asked for a model when none is configured: Ollama, LM Studio, vLLM, llama.cpp, SGLang.",
    )
    language: Literal["zh-CN", "en-US"] | None = Field(None, description="`zh-CN` or `en-US`; empty: by locale.")
    max_steps: int = Field(10, ge=1, le=1000, description="Rounds with tools before a run must answer.")
    temperature: float = Field(0.2, ge=0, le=2)
    max_output_tokens: int | None = Field(None, ge=1)
    log_level: str = Field("error", description="Least severity that is logged: debug, info, warning or error.")
    effort: Literal["none", "low", "medium", "high"] | None = Field(None, description="How much to reason; empty: as it comes.")
    text_model: str | None = Field(
        None, description="A model that writes texts for the agent: gives it the tool generate_text."
    )
    mode: Literal["auto", "manual"] = Field("auto", description="`manual`: a person confirms every action of every agent.")
    approval_hours: float = Field(24, gt=0, le=24 * 365, description="Hours that a decision is waited for; then it is no.")
    worker: bool = Field(True, description="Whether `zeno serve` drives runs; if not, `zeno worker` has to (PostgreSQL).")
    max_runs: int = Field(100, ge=1, description="Runs that one process drives at once; further ones wait their turn.")
    webhook_url: str | None = Field(None, description="Told by POST of every call that waits for a decision.")
    webhook_secret: SecretStr = Field(SecretStr(""), description="Signs what is posted there (HMAC-SHA256).")
    worker_metrics_port: int | None = Field(
        None, ge=1, le=65535, description="Where `zeno worker` tells anyone its metrics, and at `/livez` whether it lives."
    )
    otel_endpoint: str | None = Field(
        None, description="Where traces go (OTLP over HTTP), such as http://collector:4318/v1/traces; needs zeno-agent[otel]."
    )
    otel_headers: dict[str, SecretStr] = Field({}, description="Headers that the collector asks for.")
    otel_content: bool = Field(False, description="Whether traces also hold what is said, arguments and results.")
    rules: list[RuleSettings] = []
    openai: EndpointSettings = EndpointSettings()
    anthropic: EndpointSettings = EndpointSettings()
    models: dict[str, ModelSettings] = {}
    prices: dict[str, PriceSettings] = {}
    tools: ToolSettings = ToolSettings()
    server: ServerSettings = ServerSettings()
    retention: RetentionSettings = RetentionSettings()
    agents: dict[str, AgentSettings] = {}

    @property
    def default_model(self) -> str | None:
        """The model that is taken when none is named: the operator's, else the one chosen on the page."""
        chosen = (name for name, own in self.models.items() if isinstance(own, PageModel) and own.default)
        return self.model or next(chosen, None)

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Variables first, then the file in the working directory, the one in the home directory, and what the page saved."""
        home = Path(os.environ.get("ZENO_HOME") or USUAL_HOME).expanduser()
        files = [path for path in (Path("zeno.toml"), home / "zeno.toml") if path.is_file()]
        tables = (TomlConfigSettingsSource(settings_cls, path) for path in files)
        return (init_settings, env_settings, *tables, PageSource(settings_cls))


def load(**overrides: Any) -> Settings:
    """The settings in force. Raises `ConfigError` naming the setting and what is wrong with it, never its value."""
    try:
        settings = Settings(**overrides)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        raise ConfigError("setting_invalid", setting=".".join(map(str, first["loc"])), reason=first["msg"]) from None
    except ValueError as error:
        raise ConfigError("settings_unreadable", reason=str(error)) from None
    update: dict[str, object] = {
        "home": settings.home.expanduser(),
        "openai": _from_environment(settings.openai, "OPENAI"),
        "anthropic": _from_environment(settings.anthropic, "ANTHROPIC"),
    }
    if token := os.environ.get("ZENO_TOKEN"):
        update["server"] = settings.server.model_copy(update={"token": SecretStr(token)})
    return settings.model_copy(update=update)


def _from_environment(endpoint: EndpointSettings, prefix: str) -> EndpointSettings:
    """The endpoint, with the variables of the provider's own clients where the settings say nothing."""
    return EndpointSettings(
        base_url=endpoint.base_url or os.environ.get(f"{prefix}_BASE_URL"),
        api_key=SecretStr(endpoint.api_key.get_secret_value() or os.environ.get(f"{prefix}_API_KEY", "")),
        model=endpoint.model or os.environ.get(f"{prefix}_MODEL"),
    )
