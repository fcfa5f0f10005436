"""What failures have in common: the same kind, and the same last line but for numbers, ids and addresses."""

import hashlib
import re
from typing import Final

LINE_CHARS_MAX: Final = 300
#: What differs between two failures of one cause: addresses, hashes, uuids, times, counters.
_PARTICULARS: Final = re.compile(
    r"0x[0-9a-f]+|\b(?=[0-9a-f-]*[0-9])[0-9a-f]{8,}(?:-[0-9a-f]{4,})*\b|[0-9]+", re.IGNORECASE
)
_NOT_SHOWN: Final = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|[\x00-\x08\x0b-\x1f\x7f]")


def last_line(tail: bytes) -> str | None:
    """The last line with something in it, without control characters; None when there is none."""
    for line in reversed(tail.decode("utf-8", "replace").splitlines()):
        text = " ".join(_NOT_SHOWN.sub("", line).split())
        if text:
            return text[:LINE_CHARS_MAX]
    return None


def fingerprint(kind: str, line: str | None) -> str:
    """Twelve hex digits. `kind` says how it ended, such as "exit_code 3"; `line` is what it said last."""
    text = f"{kind}|{_PARTICULARS.sub('#', line or '')}"
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:12]
