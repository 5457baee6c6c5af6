"""The catalogues: every sentence a person reads, in each language, under the same keys.

`locales/<language>/<section>.toml` holds the texts of one section; a key is `section.table.name`. Placeholders are those of
`str.format`. Nothing here knows who draws the text.
"""

import functools
import tomllib
from collections.abc import Mapping
from importlib import resources
from typing import Any

LANGUAGES = ("en-US", "zh-CN")


def text(language: str, key: str, /, **params: Any) -> str:
    """The text under `key` in `language`, placeholders filled. Raises `KeyError` for a key that no catalogue has."""
    return catalogue(language)[key].format(**params)


@functools.cache
def catalogue(language: str) -> Mapping[str, str]:
    """All texts of a language by full key."""
    texts: dict[str, str] = {}
    for entry in resources.files("zeno").joinpath("locales", language).iterdir():
        if entry.name.endswith(".toml"):
            _flatten(entry.name.removesuffix(".toml"), tomllib.loads(entry.read_text("utf-8")), texts)
    return texts


def detect(requested: str | None, environ: Mapping[str, str]) -> str:
    """The language to speak: the one requested, else the one of the locale in `environ`, else English."""
    for value in (requested, *(environ.get(name) for name in ("ZENO_LANGUAGE", "LC_ALL", "LC_MESSAGES", "LANG"))):
        if value:
            return "zh-CN" if value.lower().startswith("zh") else "en-US"
    return "en-US"


def _flatten(prefix: str, node: Mapping[str, Any], into: dict[str, str]) -> None:
    for name, value in node.items():
        if isinstance(value, Mapping):
            _flatten(f"{prefix}.{name}", value, into)
        else:
            into[f"{prefix}.{name}"] = value
