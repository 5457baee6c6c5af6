"""The models that were saved on the page: one file in the home directory, for its owner's eyes, for keys are in it.

It knows the disk, and not what the entries mean: the settings read them, and whoever saves a model writes them.
"""

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

FILE = "models.json"

Entries = dict[str, dict[str, Any]]
"""The fields of each model, by its name."""


def kept(home: Path) -> Entries:
    """What was saved. Raises `ValueError`, which names the file, when it cannot be read."""
    path = home / FILE
    try:
        return msgspec.json.decode(path.read_bytes(), type=Entries)
    except FileNotFoundError:
        return {}
    except (OSError, msgspec.MsgspecError) as error:
        raise ValueError(f"{path}: {getattr(error, 'strerror', None) or error}") from None


def keep(home: Path, entries: Mapping[str, Mapping[str, Any]]) -> None:
    """Put this in the place of what was saved: all of it or, when something fails, nothing. Raises `OSError`."""
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    # The draft is its owner's alone from the beginning.
    draft, name = tempfile.mkstemp(prefix=f".{FILE}-", dir=home)
    try:
        with os.fdopen(draft, "wb") as file:
            file.write(msgspec.json.format(msgspec.json.encode(entries)) + b"\n")
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(home / FILE)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
