"""Where the last lines of a log begin, read from its end in growing steps."""

from typing import Final

from jobctl.client.log_position import dropped
from jobctl.client.sync import Client

_STEP_BYTES: Final = 16_384
_GROWTH: Final = 4
_BYTES_MAX: Final = 1 << 26


def tail_offset(client: Client, run_id: int, attempt: int | None, lines: int) -> int:
    """The logical offset of the last `lines` lines; a last line without its newline counts."""
    step = _STEP_BYTES
    while True:
        answer = client.log(run_id, attempt=attempt, offset=-step)
        begin, size = int(answer.headers.get("jobctl-log-offset", 0)), int(answer.headers.get("jobctl-log-size", 0))
        data = answer.read()
        at = _last_lines(data, lines)
        if at > 0 or begin == 0 or step >= _BYTES_MAX:
            return _logical(begin, size, len(data), at, dropped(answer.headers))
        step *= _GROWTH


def _logical(begin: int, size: int, length: int, at: int, gap: tuple[int, int] | None) -> int:
    """The offset of byte `at` of the body: counted from its end, unless the removed middle lies behind it."""
    if gap is not None and begin + at <= gap[0]:
        return begin + at
    return size - (length - at)


def _last_lines(data: bytes, lines: int) -> int:
    """Where they begin in `data`; 0 when it may hold too few."""
    if lines == 0:
        return len(data)
    at = len(data) - 1 if data.endswith(b"\n") else len(data)
    for _ in range(lines):
        at = data.rfind(b"\n", 0, at)
        if at < 0:
            return 0
    return at + 1
