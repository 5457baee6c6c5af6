"""Logs: one line of JSON per happening on the error stream, the trace id in each."""

import logging
import sys

import structlog
from structlog.tracebacks import ExceptionDictTransformer

from zeno.core.errors import ConfigError


def configure_logs(level: str) -> None:
    """Log what is at least as severe as `level`. Raises `ConfigError` for a level that does not exist."""
    number = logging.getLevelNamesMapping().get(level.upper())
    if number is None:
        raise ConfigError("setting_invalid", setting="log_level", reason="debug, info, warning or error")
    structlog.configure(
        wrapper_class=structlog.make_filtering_bound_logger(number),
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            # Without local variables: they hold keys and passwords.
            structlog.processors.ExceptionRenderer(ExceptionDictTransformer(show_locals=False)),
            structlog.processors.JSONRenderer(ensure_ascii=False),
        ],
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )
