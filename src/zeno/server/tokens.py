"""Secrets that browsers and programs carry: how they are made, hashed and compared, and where the local one lies."""

import base64
import hashlib
import hmac
import os
from pathlib import Path

from zeno.core.errors import ConfigError
from zeno.runs.clock import new_id
from zeno.settings import Settings

KEY_PREFIX = "zeno_"
"""What programs' keys begin with, so that scanners for leaked secrets find them."""

TOKEN_FILE = "token"  # noqa: S105 - its name, not the token


def new_secret() -> str:
    """32 random bytes as 43 letters, digits, `-` and `_`."""
    return base64.urlsafe_b64encode(bytes.fromhex(new_id() + new_id())).rstrip(b"=").decode()


def new_key() -> str:
    """A key for a program."""
    return KEY_PREFIX + new_secret()


def digest(secret: str, bound_to: str = "") -> str:
    """The hash that a random secret is kept by, worth nothing without the secret it is `bound_to`, if any.

    It is plain SHA-256, not what passwords need: 32 random bytes cannot be guessed.
    """
    return hmac.new(_bytes(bound_to), _bytes(secret), hashlib.sha256).hexdigest() if bound_to else _hash(secret)


def same(given: str, known: str) -> bool:
    """Whether two secrets are equal, in a time that tells neither where they differ nor how long they are."""
    return hmac.compare_digest(_hash(given), _hash(known))


def csrf_token(cookie: str) -> str:
    """What a page of ours knows and a page of another site does not: made from the cookie, which no page can read."""
    return hmac.new(_bytes(cookie), b"zeno csrf", hashlib.sha256).hexdigest()


def local_token(settings: Settings) -> str:
    """The token of the one user: the configured one, else the one in the home directory, made when there is none.

    Raises `ConfigError` when that file cannot be used.
    """
    if configured := settings.server.token.get_secret_value():
        return configured
    path = settings.home / TOKEN_FILE
    try:
        if not path.exists():
            _place(path, new_secret())
        elif path.stat().st_mode & 0o077:
            path.chmod(0o600)
        token = path.read_text("ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError("token_file_unusable", path=str(path), reason=type(error).__name__) from None
    if not token:
        raise ConfigError("token_file_unusable", path=str(path), reason="empty")
    return token


def _place(path: Path, token: str) -> None:
    """Write the file whole, readable by its owner only, unless another process has done so meanwhile."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = path.with_name(f".{TOKEN_FILE}-{new_id()}")
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(token + "\n")
        file.flush()
        os.fsync(file.fileno())
    try:
        os.link(draft, path)
    except FileExistsError:
        pass
    finally:
        draft.unlink()


def _hash(secret: str) -> str:
    return hashlib.sha256(_bytes(secret)).hexdigest()


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
