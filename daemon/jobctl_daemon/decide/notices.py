"""Which events people are told of, and when: the first failure at once, reminders, the recovery, bundles.

A job in trouble has a *streak*: the ways it failed that were told, so that the same failure is told again once an hour
at most, another one at once, and a recovery only to those who heard of the failure. A job whose runs are longer than
its interval skips with each of them, and is told of once a day. A destination has a *box*: what is told within a minute
of its last message waits, and goes out as one.
"""

import hashlib
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any, Final

import msgspec

from jobctl.model import Event

#: The same failure of a job is told again after so long, if it still happens.
REMIND_MS: Final = 3_600_000
#: That a job skips is told again after so long, or when it begins anew after a success that skipped nothing.
SKIPPING_MS: Final = 86_400_000
#: What is told to one destination within so long of its last message is bundled into the next.
BUNDLE_MS: Final = 60_000
#: Of how many things a bundle says more than their number.
TOLD_MOST: Final = 20
#: How many ways to fail are remembered of one job.
_WAYS_MOST: Final = 10
#: A text of a job that goes into a message is cut there.
TEXT_CHARS: Final = 500

#: The keys of deliveries begin so: `n:EVENT:DESTINATION`.
KEY_PREFIX: Final = "n:"
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND: Final = timedelta(milliseconds=1)


class Kind(StrEnum):
    """What people are told; `untold` is that something may have been missed."""

    DEAD = "dead"
    FAILED = "failed"
    RECOVERED = "recovered"
    QUARANTINED = "quarantined"
    SKIPPING = "skipping"
    UNTOLD = "untold"


#: The event of each; nothing else is told.
KINDS: Final = {
    "run.dead": Kind.DEAD,
    "run.failed": Kind.FAILED,
    "job.recovered": Kind.RECOVERED,
    "job.quarantined": Kind.QUARANTINED,
    "job.skipping": Kind.SKIPPING,
}
#: How a delivery ends.
_DELIVERED: Final = {"run.succeeded": True, "run.failed": False}


class Noted(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Base of what is remembered between two starts."""


class Happening(Noted, frozen=True):
    """Something to tell. Its texts are printable and short, whatever a job was called or printed."""

    event_id: int
    kind: Kind
    at_ms: int
    job_id: int
    job: str = ""
    run_id: int | None = None
    key: str = ""
    """As the run's command knows it."""
    failure_class: str = ""
    reason: str = ""
    error: str = ""
    fingerprint: str = ""
    attempt: int = 0
    count: int = 1
    """Failures since the last message about them, this one included; or occurrences skipped in a row."""
    again: bool = False
    """The same failure was told before, and the job has not recovered since; or it was skipped again and again before,
    and no run has succeeded since without a skipped one beside it."""


class Delivery(Noted, frozen=True):
    """The end of a delivery for good."""

    address_id: str
    """Empty when a person had it done again."""
    good: bool
    at_ms: int
    name: str


class Address(Noted, frozen=True):
    """Whom to tell: `to` is mail, mail:ADDRESS or exec:COMMAND, done as the job's user with the job's PATH."""

    to: str
    owner: str
    user: str | None = None
    path: str | None = None

    @property
    def id(self) -> str:
        """Twelve hex digits; the same for the same destination, user and PATH."""
        words = "\0".join([self.to, self.owner, self.user or "", self.path or ""])
        return hashlib.sha256(words.encode("utf-8", "surrogatepass")).hexdigest()[:12]


class Streak(Noted, frozen=True):
    """What was told of a job's trouble, until it recovers."""

    ways: dict[str, int] = {}
    """Fingerprint → when it was told, ms UTC; the newest last."""
    since: int = 0
    """Failures that were not told since the last message."""
    skipped_ms: int | None = None
    """When it was told that occurrences are skipped again and again, ms UTC."""


class Box(Noted, frozen=True):
    """What a destination will be told, and when it was told something."""

    address: Address
    sent_ms: int | None = None
    held: tuple[Happening, ...] = ()
    more: int = 0
    """How many there are beyond those that are held."""


# ── reading events ──────────────────────────────────────────────


def happening(event: Event) -> Happening | None:
    """What an event is to people; None when it is nothing to tell, as a dead letter that was only put back."""
    kind, data = KINDS.get(event.kind), event.data
    if kind is None or event.job_id is None or data.get("put_back"):
        return None
    return Happening(
        event_id=event.id,
        kind=kind,
        at_ms=instant_ms(event.at),
        job_id=event.job_id,
        job=plain(data.get("name")),
        run_id=event.run_id,
        key=plain(data.get("key")),
        failure_class=plain(data.get("class") or data.get("outcome")),
        reason=plain(data.get("detail") or data.get("reason") or data.get("why")),
        error=plain(data.get("error")),
        fingerprint=plain(data.get("fingerprint")),
        attempt=_number(data.get("attempt"), 0),
        count=_number(data.get("count"), 1),
        again=kind is Kind.SKIPPING and data.get("again") is True,
    )


def delivery(event: Event) -> Delivery | None:
    """How a delivery ended; None for the event of anything else. Of successes the store tells only deliveries'."""
    key = event.data.get("key")
    good = _DELIVERED.get(event.kind)
    ours = isinstance(key, str) and key.startswith(KEY_PREFIX)
    if good is None or not (good or ours):
        return None
    address_id = str(key).rpartition(":")[2] if ours else ""
    return Delivery(address_id=address_id, good=good, at_ms=instant_ms(event.at), name=plain(event.data.get("name")))


def concerns(event: Event) -> bool:
    """Whether the service must look at once."""
    return event.kind in KINDS or (event.kind in _DELIVERED and str(event.data.get("key")).startswith(KEY_PREFIX))


def plain(value: object, most: int = TEXT_CHARS) -> str:
    """A text of a job that can neither end a line, nor move a cursor, nor fail to be stored."""
    if value is None:
        return ""
    text = "".join(char if char.isprintable() else " " for char in str(value)[: most + 1]).strip()
    return text if len(text) <= most else f"{text[: most - 1]}…"


def instant_ms(at: str) -> int:
    """Of an RFC 3339 text."""
    return (datetime.fromisoformat(at) - _EPOCH) // _MILLISECOND


def _number(value: Any, otherwise: int) -> int:
    return value if isinstance(value, int) else otherwise


# ── what is told ──────────────────────────────────────────────


def judge(known: Streak | None, what: Happening) -> tuple[Streak | None, Happening | None]:
    """(what is known of the job from now on, what is told or None).

    A quarantine is an event of its own each time, because somebody has to resume the job before there can be another.
    """
    streak = known or Streak()
    if what.kind is Kind.RECOVERED:
        left = Streak(skipped_ms=streak.skipped_ms) if streak.skipped_ms is not None else None
        return left, what if streak.ways else None
    if what.kind is Kind.SKIPPING:
        return _skipped(streak, what)
    if what.kind in (Kind.DEAD, Kind.FAILED):
        return _failed(streak, what)
    return known, what


def _failed(streak: Streak, what: Happening) -> tuple[Streak, Happening | None]:
    way = what.fingerprint or what.failure_class
    told_ms = streak.ways.get(way)
    if told_ms is not None and 0 <= what.at_ms - told_ms < REMIND_MS:
        return msgspec.structs.replace(streak, since=streak.since + 1), None
    ways = {other: at_ms for other, at_ms in streak.ways.items() if other != way}
    kept = list(ways.items())[-(_WAYS_MOST - 1) :]
    again = told_ms is not None
    count = streak.since + 1 if again else 1
    told = msgspec.structs.replace(streak, ways={**dict(kept), way: what.at_ms}, since=0)
    return told, msgspec.structs.replace(what, count=count, again=again)


def _skipped(streak: Streak, what: Happening) -> tuple[Streak, Happening | None]:
    told_ms = streak.skipped_ms
    if what.again and told_ms is not None and 0 <= what.at_ms - told_ms < SKIPPING_MS:
        return streak, None
    return msgspec.structs.replace(streak, skipped_ms=what.at_ms), what


def spent(streak: Streak, now_ms: int) -> bool:
    """Whether the streak silences nothing any more."""
    told_ms = streak.skipped_ms
    return not streak.ways and (told_ms is None or not 0 <= now_ms - told_ms < SKIPPING_MS)


# ── when it is told ──────────────────────────────────────────────


def put(box: Box, what: Happening) -> Box:
    """One thing more to tell."""
    if len(box.held) < TOLD_MOST:
        return msgspec.structs.replace(box, held=(*box.held, what))
    return msgspec.structs.replace(box, more=box.more + 1)


def due_ms(box: Box, now_ms: int) -> int | None:
    """When what is held goes out; None: nothing is. A last message that lies in the future was a wrong clock's."""
    if not box.held:
        return None
    if box.sent_ms is None or not 0 <= now_ms - box.sent_ms < BUNDLE_MS:
        return now_ms
    return box.sent_ms + BUNDLE_MS


def sent(box: Box, now_ms: int) -> Box:
    """The box after its message."""
    return Box(address=box.address, sent_ms=now_ms)


def forgettable(box: Box, now_ms: int) -> bool:
    """Whether the box is as good as a new one."""
    return not box.held and (box.sent_ms is None or not 0 <= now_ms - box.sent_ms < BUNDLE_MS)


def key_of(box: Box) -> str:
    """The key of the delivery: the first event that it tells of, and the destination. Made once in the ledger."""
    return f"{KEY_PREFIX}{box.held[0].event_id}:{box.address.id}"
