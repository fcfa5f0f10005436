"""The daemon's own log: one event a line with keys, capped. To its file, or to stderr in the foreground."""

import logging
import logging.handlers
import sys
from collections.abc import MutableMapping
from typing import Any

import structlog

from jobctl.clock import Clock
from jobctl.wire import rfc3339

_BYTES_MAX = 5_000_000


def configure(clock: Clock, level: str, path: str | None) -> None:
    """Logs of `level` and above go to the file, or to stderr when there is none."""
    if path is None:
        handler: logging.Handler = logging.StreamHandler(sys.stderr)
    else:
        handler = logging.handlers.RotatingFileHandler(path, maxBytes=_BYTES_MAX, backupCount=1, delay=True)
    root = logging.getLogger()
    root.handlers[:] = [handler]
    set_level(level)
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            structlog.stdlib.add_log_level,
            _stamp(clock),
            structlog.processors.format_exc_info,
            structlog.processors.LogfmtRenderer(key_order=["at", "level", "event"], bool_as_flag=False)
            if path is None
            else structlog.processors.JSONRenderer(),
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=False,
    )


def set_level(level: str) -> None:
    """Changes the level of a running daemon."""
    logging.getLogger().setLevel(level.upper())


def _stamp(clock: Clock) -> structlog.typing.Processor:
    def stamp(_: Any, __: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
        event["at"] = rfc3339(clock.now_ms())
        return event

    return stamp
