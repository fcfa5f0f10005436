"""What is remembered of the mail of runs between two starts: how far the ends have been looked at, and what went wrong.

One note of `meta` for each kind of trouble, written in the transaction that makes the deliveries.
"""

from collections.abc import Mapping
from typing import Final

import msgspec

#: How far the events have been looked at; beside it are the notes of troubles.
MAILED: Final = "mailed"
_TROUBLE: Final = "mailed:"
#: A trouble is told for so long after it was seen last.
WARN_MS: Final = 86_400_000
_WORDS: Final = {
    "unsent": (
        "mail of {runs} was not sent: there is no sendmail here; install a mail transport, or set `sendmail` or "
        '`crontab_mail = "never"` in jobd.toml'
    ),
    "failed": "mail of {runs} could not be delivered: jobctl runs mail --state failed",
    "dropped": "mail of {runs} was dropped, because too much of it waited: jobctl runs mail",
    "missed": "mail of some runs may not have been sent: jobd was behind with its events",
}


class Trouble(msgspec.Struct, frozen=True, kw_only=True):
    """Mails of which the same became, and when that was last."""

    count: int
    at_ms: int


class Troubles:
    """Made of the notes at the start; `changes` is what has to be written of them."""

    def __init__(self, notes: Mapping[str, str]) -> None:
        self._known = {kind: found for kind in _WORDS if (found := _read(notes.get(_TROUBLE + kind))) is not None}
        self._changed: set[str] = set()

    def one_more(self, kind: str, now_ms: int) -> None:
        before = self._known.get(kind)
        self._put(kind, Trouble(count=before.count + 1 if before else 1, at_ms=now_ms))

    def over(self, kind: str) -> None:
        """It goes again."""
        if kind in self._known:
            self._put(kind, None)

    def warning(self, now_ms: int) -> str | None:
        """What somebody should know."""
        for kind in [kind for kind, one in self._known.items() if not 0 <= now_ms - one.at_ms < WARN_MS]:
            self._put(kind, None)
        return "; ".join(_words(kind, one) for kind, one in self._known.items()) or None

    def next_ms(self) -> int | None:
        """When the oldest is told no more."""
        return min((one.at_ms + WARN_MS for one in self._known.values()), default=None)

    def changes(self) -> dict[str, str | None]:
        """Notes to write; None: to remove."""
        return {_TROUBLE + kind: _text(self._known.get(kind)) for kind in sorted(self._changed)}

    def written(self) -> None:
        self._changed.clear()

    def _put(self, kind: str, trouble: Trouble | None) -> None:
        self._changed.add(kind)
        if trouble is None:
            del self._known[kind]
        else:
            self._known[kind] = trouble


def _words(kind: str, one: Trouble) -> str:
    return _WORDS[kind].format(runs="1 run" if one.count == 1 else f"{one.count} runs")


def _text(trouble: Trouble | None) -> str | None:
    return None if trouble is None else str(msgspec.json.encode(trouble), "utf-8")


def _read(text: str | None) -> Trouble | None:
    """One that cannot be read is as none."""
    try:
        return None if text is None else msgspec.json.decode(text, type=Trouble)
    except msgspec.MsgspecError:
        return None
