"""Profiles: what is known of an endpoint's model because it was tried, kept in one file for the adapters."""

from pathlib import Path

import msgspec


class Profile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a model at an endpoint does when it is asked.

    `reasoning` names where its thoughts come from (empty: none were seen), `usage` says whether it reports tokens,
    `context_window` is in tokens (`None`: it does not tell), `finish_reasons` are its own words for an answer and for a call.
    """

    tools: bool
    parallel_calls: bool
    json_mode: bool
    usage: bool
    reasoning: str = ""
    context_window: int | None = None
    finish_reasons: tuple[str, ...] = ()


class Profiles:
    """The profiles in a file, by model's name and address. A file that cannot be read counts as empty."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def get(self, key: str) -> Profile | None:
        """What is known of a model."""
        return self._read().get(key)

    def put(self, key: str, profile: Profile) -> None:
        """Keep what was found."""
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        draft = self._path.with_suffix(".part")
        draft.write_bytes(msgspec.json.format(msgspec.json.encode({**self._read(), key: profile})))
        draft.replace(self._path)

    def _read(self) -> dict[str, Profile]:
        try:
            return msgspec.json.decode(self._path.read_bytes(), type=dict[str, Profile])
        except (OSError, msgspec.MsgspecError):
            return {}
