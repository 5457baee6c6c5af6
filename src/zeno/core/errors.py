"""All errors, sorted by who must act.

    ZenoError
    ├── ToolFailed          the model: a result it can read and react to
    │   └── EffectUnknown       the tool was given up after it began: it may have taken effect
    ├── RunError            the run's owner: the run cannot go on
    │   ├── ModelUnavailable    the model cannot be reached or answered with an error
    │   └── ModelRefused        the model declined to answer
    ├── RunLost             nobody: another driver has taken the run over, stop at once
    ├── RequestError        the caller: the request cannot be served as it is
    │   ├── Unauthorized
    │   ├── NotFound
    │   ├── Conflict
    │   ├── Forbidden
    │   ├── Invalid
    │   └── TooMany
    ├── StoreUnavailable    the operator: the database does not answer; what was written stays, what was not can be done again
    ├── WrittenByNewer      nobody here: a newer release has written what this one cannot read, and goes on with it
    └── ConfigError         the operator: the installation or its settings are wrong

They are caught in three places only: around a tool call (`ToolFailed`), in the driver (`RunError`, `RunLost`) and at the edge
(`RequestError`, `ConfigError`). Each carries a stable `code` and parameters; the words for people are in the catalogues.
"""

from collections.abc import Mapping


class ZenoError(Exception):
    """Base of all errors of Zeno.

    `code` is stable and is the key of the message in both languages; `params` are its placeholders and hold no secrets.
    """

    def __init__(self, code: str, /, **params: str | int) -> None:
        super().__init__(code, params)
        self.code = code
        self.params: Mapping[str, str | int] = params

    def __str__(self) -> str:
        details = ", ".join(f"{name}={value}" for name, value in self.params.items())
        return f"{self.code} ({details})" if details else self.code


class ToolFailed(ZenoError):
    """A tool could not do what was asked. `message` says what is wrong, where, and what to do; the model reads it."""

    def __init__(self, message: str, /, code: str = "tool_failed") -> None:
        super().__init__(code)
        self.message = message

    def __str__(self) -> str:
        return self.message


class EffectUnknown(ToolFailed):
    """A tool was given up after it began, and doing it again could do it twice."""


class RunError(ZenoError):
    """The run cannot go on and ends; its owner must act."""


class ModelUnavailable(RunError):
    """The model could not be reached, or answered with an error.

    `retryable` says that the same request may succeed later, `retry_after` how many seconds the provider asks to wait.
    """

    def __init__(self, code: str, /, *, retryable: bool = False, retry_after: float | None = None, **params: str | int) -> None:
        super().__init__(code, **params)
        self.retryable = retryable
        self.retry_after = retry_after


class ModelRefused(RunError):
    """The model declined to answer."""


class RunLost(ZenoError):
    """Another driver holds the run. Nothing may be written or done any more."""


class RequestError(ZenoError):
    """The caller asked for something that cannot be served."""


class NotFound(RequestError):
    """The thing named by the caller does not exist."""


class Conflict(RequestError):
    """The thing is in a state that does not allow the request."""


class Forbidden(RequestError):
    """The caller may not do this."""


class Invalid(RequestError):
    """The request itself is malformed."""


class Unauthorized(RequestError):
    """The caller has not said, or not proven, who they are."""


class TooMany(RequestError):
    """The caller asks too often. `retry_after` is in seconds."""

    def __init__(self, code: str, /, *, retry_after: int, **params: str | int) -> None:
        super().__init__(code, **params, seconds=retry_after)
        self.retry_after = retry_after


class StoreUnavailable(ZenoError):
    """The database does not answer. Nothing of the transaction has happened, unless only the answer to its end was lost."""


class WrittenByNewer(ZenoError):
    """What is stored was written by a newer release, in words that this one does not know. It is left as it is."""


class ConfigError(ZenoError):
    """The installation or its settings are wrong."""
