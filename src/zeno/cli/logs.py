"""Logs: one line of JSON per happening on the error stream, the trace id in each."""

import logging
import sys

import structlog
from structlog.tracebacks import ExceptionDictTransformer

from zeno.core.errors import ConfigError
from zeno.settings import Settings

USUAL_LEVEL = "info"
"""What a service logs when the settings do not say: its log is read later."""


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


def configure_service_logs(settings: Settings) -> None:
    """Log as a process does that stays: from `info` on unless the settings say otherwise, libraries' lines like our own."""
    level = settings.log_level if "log_level" in settings.model_fields_set else USUAL_LEVEL
    configure_logs(level)
    number = max(logging.getLevelNamesMapping()[level.upper()], logging.WARNING)
    logging.basicConfig(handlers=[_Lines()], level=number, force=True)


class _Lines(logging.Handler):
    """Hands the records of the standard library's logging on."""

    def emit(self, record: logging.LogRecord) -> None:
        structlog.get_logger(record.name).log(record.levelno, record.getMessage(), exc_info=record.exc_info)
