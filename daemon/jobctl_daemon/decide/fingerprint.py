"""What failures have in common: the same kind, and the same last line but for numbers, ids and addresses."""

import hashlib
import re
from typing import Final

#: What is shown of a long line: its beginning and its end, where the cause mostly stands.
LINE_CHARS_MAX: Final = 300
#: Of a longer line its end is compared: how much of its beginning is still there depends on its length.
COMPARED_CHARS_MAX: Final = 500
#: What differs between two failures of one cause: addresses, hashes, uuids, times, counters.
_PARTICULARS: Final = re.compile(
    r"0x[0-9a-f]+|\b(?=[0-9a-f-]*[0-9])[0-9a-f]{8,}(?:-[0-9a-f]{4,})*\b|[0-9]+", re.IGNORECASE
)
#: Escape sequences (ECMA-48: control sequences, control strings, the others) and control characters, C1 as well.
_NOT_SHOWN: Final = re.compile(
    r"(?:\x1b\[|\x9b)[0-9:;<=>?]*[ -/]*[@-~]"
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"
    r"|\x1b[ -/]*[0-~]?|[\x00-\x08\x0b-\x1f\x7f-\x9f]"
)
_LINE_END: Final = re.compile(r"[\r\n]+")


def last_line(tail: bytes) -> str | None:
    """The last line with something in it, without control characters; None when there is none."""
    for line in reversed(_LINE_END.split(tail.decode("utf-8", "replace"))):
        text = " ".join(_NOT_SHOWN.sub("", line).split())
        if text:
            return text
    return None


def shortened(line: str | None) -> str | None:
    """A line as it is kept to be shown."""
    if line is None or len(line) <= LINE_CHARS_MAX:
        return line
    half = (LINE_CHARS_MAX - 3) // 2
    return f"{line[:half]} … {line[-half:]}"


def fingerprint(kind: str, line: str | None) -> str:
    """Twelve hex digits. `kind` says how it ended, such as "exit_code 3"; `line` is what it said last."""
    text = f"{kind}|{_PARTICULARS.sub('#', line or '')[-COMPARED_CHARS_MAX:]}"
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:12]
