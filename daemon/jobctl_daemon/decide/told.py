"""What the telling service remembers: how far it has looked, jobs in trouble, destinations, deliveries that failed.

It survives a restart as notes of the store: short JSON texts in `meta`, one for each job and each destination, written
in the transaction that makes the messages. So a message, what is remembered of it and its place in the event log are
one, and an ordinary message changes two or three short rows. It cannot be derived from the deliveries: a bundle is one
run for many jobs, a failure that was not told has no run, and history is pruned. Nor from the events, which are kept
for an hour. What was seen but led to no message is not written down; after a crash it is read and judged again.
"""

import shlex
from collections.abc import Iterable, Mapping
from typing import Final, TypeVar

import msgspec

from jobctl_daemon.decide import notices
from jobctl_daemon.decide.notices import Address, Box, Delivery, Happening, Noted, Streak

#: How far the events have been looked at; beside it are the notes.
TOLD: Final = "told"
#: Jobs in trouble that are remembered: who is forgotten is told of as if for the first time.
STREAKS_MOST: Final = 5_000
#: A delivery that failed is a warning for so long, or until one to the same destination succeeds.
WARN_MS: Final = 86_400_000
#: Events looked at after which the place is written down although there is no message: far fewer than are always kept.
BEHIND_MOST: Final = 500

_STREAK: Final = "told:job:"
_BOX: Final = "told:box:"
_TROUBLE: Final = "told:undelivered:"

T = TypeVar("T")


class Trouble(Noted, frozen=True):
    """Messages to one destination that could not be delivered, since the last one that could."""

    count: int
    at_ms: int
    name: str
    """How the deliveries are called in lists of runs."""


class Memory:
    """Made of the notes at the start; `changes` is what has to be written of it."""

    def __init__(self, notes: Mapping[str, str], oldest: int) -> None:
        """`oldest` is the first event that is kept: where a store begins that was never looked at."""
        self.looked = int(notes.get(TOLD, oldest - 1))
        self._written = self.looked
        self._streaks = {int(name): found for name, found in _read(notes, _STREAK, Streak).items()}
        self._boxes = _read(notes, _BOX, Box)
        self._troubles = _read(notes, _TROUBLE, Trouble)
        self._changed: set[str] = set()

    # ── what happens ──────────────────────────────────────────────
    def lost(self, oldest: int) -> bool:
        """Whether events went before they were looked at; the oldest kept one is the next to be looked at then."""
        if oldest <= self.looked + 1:
            return False
        self.looked = oldest - 1
        return True

    def take(self, what: Happening, addresses: Iterable[Address]) -> None:
        """Something happened to a job of which these are told."""
        streak, told = notices.judge(self._streaks.get(what.job_id), what)
        self._put_streak(what.job_id, streak)
        if told is not None:
            self.tell(told, addresses)

    def tell(self, what: Happening, addresses: Iterable[Address]) -> None:
        """Without a judgement."""
        for address in addresses:
            box = self._boxes.get(address.id) or Box(address=address)
            self._put_box(notices.put(box, what))

    def forget(self, job_id: int) -> None:
        """The job is gone, or nobody wants to be told of it."""
        self._put_streak(job_id, None)

    def delivered(self, end: Delivery) -> None:
        """A delivery has ended for good."""
        if end.good:
            self._forget_troubles(
                name
                for name, known in self._troubles.items()
                if (end.address_id == name if end.address_id else end.name == known.name)
            )
            return
        known = self._troubles.get(end.address_id)
        count = known.count + 1 if known else 1
        self._troubles[end.address_id] = Trouble(count=count, at_ms=end.at_ms, name=end.name)
        self._changed.add(_TROUBLE + end.address_id)

    # ── what follows ──────────────────────────────────────────────
    def due(self, now_ms: int) -> list[Box]:
        """Boxes whose message goes out now."""
        return [box for box in self._boxes.values() if notices.due_ms(box, now_ms) == now_ms]

    def next_ms(self, now_ms: int) -> int | None:
        """The next instant at which there is something to do without an event."""
        waiting = [at_ms for box in self._boxes.values() if (at_ms := notices.due_ms(box, now_ms)) is not None]
        expiring = [trouble.at_ms + WARN_MS for trouble in self._troubles.values()]
        return min([*waiting, *expiring], default=None)

    def sent(self, box: Box, now_ms: int) -> None:
        """Its message is on the way."""
        self._put_box(notices.sent(box, now_ms))

    def warning(self, now_ms: int) -> str | None:
        """That messages could not be delivered, and where to look."""
        self._forget_troubles(name for name, found in self._troubles.items() if not 0 <= now_ms - found.at_ms < WARN_MS)
        if not self._troubles:
            return None
        count = sum(trouble.count for trouble in self._troubles.values())
        newest = max(self._troubles.values(), key=lambda trouble: trouble.at_ms)
        words = "1 message" if count == 1 else f"{count} messages"
        return f"{words} could not be delivered: jobctl runs {shlex.quote(newest.name)} --state failed"

    # ── what is kept ──────────────────────────────────────────────
    @property
    def behind(self) -> bool:
        """Whether the place is to be written down although there is nothing to tell."""
        return self.looked - self._written >= BEHIND_MOST

    def changes(self, now_ms: int) -> dict[str, str | None]:
        """Notes to write; None: to remove. Boxes and streaks that have become as good as new are removed on the way."""
        for job_id in [job_id for job_id, streak in self._streaks.items() if notices.spent(streak, now_ms)]:
            self._put_streak(job_id, None)
        for name in [name for name, box in self._boxes.items() if notices.forgettable(box, now_ms)]:
            del self._boxes[name]
            self._changed.add(_BOX + name)
        return {note: self._note(note) for note in sorted(self._changed)}

    def written(self) -> None:
        """The notes are stored, with the place up to which events have been looked at."""
        self._written = self.looked
        self._changed.clear()

    def _note(self, note: str) -> str | None:
        kept: Noted | None
        if note.startswith(_STREAK):
            kept = self._streaks.get(int(note.removeprefix(_STREAK)))
        elif note.startswith(_BOX):
            kept = self._boxes.get(note.removeprefix(_BOX))
        else:
            kept = self._troubles.get(note.removeprefix(_TROUBLE))
        return None if kept is None else str(msgspec.json.encode(kept), "utf-8")

    def _put_box(self, box: Box) -> None:
        self._boxes[box.address.id] = box
        self._changed.add(_BOX + box.address.id)

    def _forget_troubles(self, names: Iterable[str]) -> None:
        for name in list(names):
            del self._troubles[name]
            self._changed.add(_TROUBLE + name)

    def _put_streak(self, job_id: int, streak: Streak | None) -> None:
        """The job that was heard of last is the last one to be forgotten."""
        known = self._streaks.pop(job_id, None)
        if streak is not None:
            self._streaks[job_id] = streak
        if streak != known:
            self._changed.add(f"{_STREAK}{job_id}")
        if len(self._streaks) > STREAKS_MOST:
            eldest = next(iter(self._streaks))
            del self._streaks[eldest]
            self._changed.add(f"{_STREAK}{eldest}")


def _read(notes: Mapping[str, str], prefix: str, kind: type[T]) -> dict[str, T]:
    """The notes of one kind. One that cannot be read is as none: at worst something is told again."""
    decode = msgspec.json.Decoder(kind).decode
    found: dict[str, T] = {}
    for name, text in notes.items():
        if not name.startswith(prefix):
            continue
        try:
            found[name.removeprefix(prefix)] = decode(text)
        except msgspec.MsgspecError:
            continue
    return found
