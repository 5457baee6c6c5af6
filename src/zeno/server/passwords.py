"""Passwords: hashed and checked with Argon2, in threads of their own, for each takes tens of milliseconds and megabytes."""

import asyncio
import functools
import unicodedata
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from zeno.core.errors import Invalid, TooMany
from zeno.stores.accounts import Accounts, User, proper_name

SHORTEST, LONGEST = 8, 1024
"""Characters."""

PATIENCE = 20.0
"""Seconds that a check may wait for its turn and take."""

_HASHER = PasswordHasher()
_THREADS = ThreadPoolExecutor(2, "zeno-passwords")
"""Few: more checks at once would only take more memory, and whoever asks for many is not a user."""

_T = TypeVar("_T")


async def hashed(password: str) -> str:
    """The hash to keep. Raises `Invalid` for a password that is too short or too long."""
    if not SHORTEST <= len(password) <= LONGEST:
        raise Invalid("password_length", least=SHORTEST, most=LONGEST)
    return await _in_thread(functools.partial(_HASHER.hash, _normal(password)))


async def checked(accounts: Accounts, name: str, password: str) -> tuple[User | None, bool]:
    """The user of that name, and whether they may log in with this password.

    The work is the same for a name that nobody has. A hash that is no longer as strong as new ones is made anew.
    """
    user, known = await _known(accounts, name)
    given = _normal(password[:LONGEST])
    right = await _in_thread(functools.partial(_matches, known, given))
    if user is None or known is None or not right or user.disabled_at is not None:
        return user, False
    if _HASHER.check_needs_rehash(known):
        await accounts.refresh_password(user.id, known, await _in_thread(functools.partial(_HASHER.hash, given)))
    return user, True


async def _known(accounts: Accounts, name: str) -> tuple[User | None, str | None]:
    try:
        user = await accounts.find(proper_name(name))
    except Invalid:
        user = None
    return user, await accounts.password(user.id if user else "")


def _matches(known: str | None, given: bytes) -> bool:
    try:
        return _HASHER.verify(_decoy() if known is None else known, given) and known is not None
    except (VerificationError, InvalidHashError):
        return False


@functools.cache
def _decoy() -> str:
    return _HASHER.hash("of nobody")


def _normal(password: str) -> bytes:
    """One form for what keyboards and systems encode differently; of bytes that are no text too."""
    return unicodedata.normalize("NFC", password).encode("utf-8", "surrogatepass")


async def _in_thread(work: Callable[[], _T]) -> _T:
    try:
        async with asyncio.timeout(PATIENCE):
            return await asyncio.get_running_loop().run_in_executor(_THREADS, work)
    except TimeoutError:
        raise TooMany("login_busy", retry_after=int(PATIENCE)) from None
