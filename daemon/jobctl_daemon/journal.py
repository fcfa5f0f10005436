"""The daemon's own log: one event a line with keys, capped. To its file, or to stderr in the foreground.

Everything goes through one handler, also what libraries say: a fault that lasts does not flood it (`repeats`), and it
neither raises nor waits (`logfile`).
"""

import logging
import os
from collections import deque
from collections.abc import Iterator, Mapping, MutableMapping
from contextlib import suppress
from typing import Any, Final, NamedTuple

import msgspec
import structlog

from jobctl.clock import Clock
from jobctl.wire import rfc3339
from jobctl_daemon.logfile import CappedFile, Descriptor, Out
from jobctl_daemon.repeats import RepeatsFilter

_BYTES_MAX: Final = 5_000_000
_LINE_BYTES_MAX: Final = 64_000
#: Lines that are kept in memory for who asks for them, and the characters of each.
KEPT: Final = 500
_KEPT_CHARS: Final = 2_000
_TAIL_BYTES: Final = 128 << 10
#: What a line has besides its words.
_HEAD: Final = frozenset({"at", "level", "event"})


class Said(NamedTuple):
    """A line of the log as people read it."""

    at: str
    level: str
    text: str


def recent() -> list[Said]:
    """The last lines of this daemon's log, oldest first; those of the one before it where it logs to a file."""
    return [line for handler in logging.getLogger().handlers if isinstance(handler, Lines) for line in handler.recent]


def configure(clock: Clock, level: str, path: str | None, descriptor: int = 2) -> None:
    """Logs of `level` and above go to the file, or to the descriptor when there is none."""
    out: Out = Descriptor(descriptor) if path is None else CappedFile(path, _BYTES_MAX)
    handler = Lines(out)
    handler.recent.extend(() if path is None else _before(path))
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
        self.recent: deque[Said] = deque(maxlen=KEPT)

    def emit(self, record: logging.LogRecord) -> None:
        self.recent.append(_said(record))
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


def _said(record: logging.LogRecord) -> Said:
    """In words: what happened, and its keys. Of an exception the last line, which says what it was."""
    if isinstance(record.msg, Mapping):
        return _worded(record.msg, record.levelname)
    text = record.name
    with suppress(Exception):  # a library's message that does not fit its arguments
        text = f"{record.name}: {record.getMessage()}"
    return Said(rfc3339(int(record.created * 1000)), record.levelname.lower(), text[:_KEPT_CHARS])


def _worded(event: Mapping[str, Any], level: str) -> Said:
    keys = " ".join(f"{key}={_short(key, value)}" for key, value in event.items() if _is_told(key))
    text = f"{event.get('event', '')} {keys}".rstrip()
    return Said(str(event.get("at", "")), str(event.get("level", level)).lower(), text[:_KEPT_CHARS])


def _is_told(key: str) -> bool:
    return key not in _HEAD and not key.startswith("_")


def _short(key: str, value: object) -> str:
    text = str(value)
    return text.rstrip().rpartition("\n")[2] if key == "exception" else text


def _before(path: str) -> Iterator[Said]:
    """The last lines of the file that there is; none when it cannot be read."""
    try:
        with open(path, "rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - _TAIL_BYTES))
            lines = file.read(_TAIL_BYTES).split(b"\n")
    except OSError:
        return
    for line in lines[1 if size > _TAIL_BYTES else 0 :][-KEPT:]:
        with suppress(msgspec.DecodeError, UnicodeDecodeError):
            event = msgspec.json.decode(line)
            if isinstance(event, dict):
                yield _worded(event, "info")


def _stamp(clock: Clock) -> structlog.typing.Processor:
    def stamp(_: Any, __: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
        event["at"] = rfc3339(clock.now_ms())
        return event

    return stamp
