"""The daemon's own log: one event a line with keys, capped. To its file, or to stderr in the foreground.

Everything goes through one handler, also what libraries say: a fault that lasts does not flood it (`repeats`), and it
neither raises nor waits (`logfile`).
"""

import logging
from collections.abc import MutableMapping
from typing import Any, Final

import structlog

from jobctl.clock import Clock
from jobctl.wire import rfc3339
from jobctl_daemon.logfile import CappedFile, Descriptor, Out
from jobctl_daemon.repeats import RepeatsFilter

_BYTES_MAX: Final = 5_000_000
_LINE_BYTES_MAX: Final = 64_000


def configure(clock: Clock, level: str, path: str | None, descriptor: int = 2) -> None:
    """Logs of `level` and above go to the file, or to the descriptor when there is none."""
    out: Out = Descriptor(descriptor) if path is None else CappedFile(path, _BYTES_MAX)
    handler = Lines(out)
    handler.addFilter(RepeatsFilter(clock))
    every: list[structlog.typing.Processor] = [
        structlog.stdlib.add_log_level,
        _stamp(clock),
        structlog.processors.format_exc_info,
    ]
    renderer: structlog.typing.Processor = structlog.processors.JSONRenderer(default=str)
    if path is None:
        renderer = structlog.processors.LogfmtRenderer(key_order=["at", "level", "event"], bool_as_flag=False)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer],
            foreign_pre_chain=every,
        )
    )
    logging.getLogger().handlers[:] = [handler]
    set_level(level)
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *every,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=False,
    )


def set_level(level: str) -> None:
    """Changes the level of a running daemon."""
    logging.getLogger().setLevel(level.upper())


class Lines(logging.Handler):
    """One record, one line."""

    def __init__(self, out: Out) -> None:
        super().__init__()
        self._out = out
        self._lost = 0

    def emit(self, record: logging.LogRecord) -> None:
        if not self._out.write(self._line(record)):
            self._lost += 1
        elif self._lost:
            lost, self._lost = self._lost, 0
            structlog.get_logger().warning("log.lines_lost", count=lost)

    def _line(self, record: logging.LogRecord) -> bytes:
        try:
            text = self.format(record)
        except Exception as error:  # noqa: BLE001 - a line that cannot be worded is no reason to lose its event
            text = f"{record.levelname} {record.name}: a line that cannot be written: {error!r}"
        line = text.replace("\n", "\\n").encode("utf-8", "backslashreplace")
        return line[:_LINE_BYTES_MAX] + b"\n"


def _stamp(clock: Clock) -> structlog.typing.Processor:
    def stamp(_: Any, __: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
        event["at"] = rfc3339(clock.now_ms())
        return event

    return stamp
