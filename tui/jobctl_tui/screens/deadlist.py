"""The dead letters as a tree: groups of what failed in the same way, below the unfolded ones their letters; or flat.

Read anew when one comes or goes, at most every two seconds; rows keep their places while somebody chooses among them.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import Any, Final, NamedTuple

from jobctl.client.sync import Client
from jobctl.clock import Clock
from jobctl.errors import JobctlError, NotFound
from jobctl_tui.live.changes import Changes
from jobctl_tui.live.held import Held
from jobctl_tui.live.window import ORDER_MS, Asks, Dirty
from jobctl_tui.words.dead import SHOWN_MAX, Group, Letter, Row, group_key, key, rows

Json = dict[str, Any]

#: One by one, the newest so many are shown.
LOOKED_AT_MAX: Final = 5_000
_KINDS: Final = frozenset({"run.dead", "run.replayed", "run.discarded", "owner.renamed", "daemon.restored"})


class Wanted(NamedTuple):
    """What is shown."""

    query: str = ""
    flat: bool = False
    unfolded: frozenset[str] = frozenset()


class Read(NamedTuple):
    """What has come of it."""

    groups: Sequence[Json]
    letters: dict[str, Sequence[Json]]
    """By fingerprint, newest death first: of the unfolded groups, or all of them."""
    total: int


class DeadList(Held):
    """Everything here is called on the loop of the screens."""

    def __init__(self, errands: Asks, clock: Clock, changed: Callable[[Dirty], None]) -> None:
        super().__init__(clock)
        self.wanted = Wanted()
        self.known = False
        self.error: JobctlError | None = None
        self.cursor: int | None = None
        self.read = Read((), {}, 0)
        self._errands = errands
        self._changed = changed
        self._rows: list[Row] = []
        self._places: dict[int, int] = {}
        self._pending: Read | None = None
        self._reading: Wanted | None = None
        self._stale = False
        self._timed = False
        self._read_ms = -ORDER_MS
        self._shown: Wanted | None = None
        """What the rows that are shown were read for."""

    # ── what is known ──────────────────────────────────────
    @property
    def total(self) -> int:
        """Rows."""
        return len(self._rows)

    @property
    def loading(self) -> bool:
        return self._reading is not None

    def row(self, index: int) -> Row | None:
        return self._rows[index] if 0 <= index < len(self._rows) else None

    def row_of(self, ident: int) -> Row | None:
        place = self._places.get(ident)
        return None if place is None else self._rows[place]

    def find(self, ident: int) -> Json | None:
        """The run, or the line of the group."""
        row = self.row_of(ident)
        return None if row is None else row.line if isinstance(row, Group) else row.run

    def index_of(self, ident: int) -> int | None:
        return self._places.get(ident)

    # ── what is wanted ─────────────────────────────────────
    def show(self, wanted: Wanted) -> None:
        """Now: somebody has asked for it."""
        self.wanted = wanted
        self._put(self.read)  # what is folded is so at once
        self._go()

    def reorder(self) -> None:
        """Now, whatever is held."""
        self._shown = None
        self._go()

    def touch(self, changes: Changes) -> None:
        if changes.reset or any(event["kind"] in _KINDS for event in changes.events):
            self._stale = True
            self._look()

    # ── reading ────────────────────────────────────────────
    def _look(self) -> None:
        """Takes over what has come, and reads what is due, or looks again when it is."""
        if self._pending is not None and not self.hold:
            answer, self._pending = self._pending, None
            self._put(answer)
        now_ms = self._clock.awake_ms()
        due_ms = self._read_ms + ORDER_MS if self._stale and self._reading is None else None
        if due_ms is not None and due_ms <= now_ms:
            self._go()
            return
        if self._pending is not None and not self._held:
            due_ms = min(due_ms or self._held_until_ms, self._held_until_ms)
        if due_ms is not None and not self._timed:
            self._timed = True
            self._errands.later(max(1, due_ms - now_ms), self._again)

    def _again(self) -> None:
        self._timed = False
        self._look()

    def _go(self) -> None:
        wanted = self._reading = self.wanted
        self._stale, self._pending = False, None
        self._read_ms = self._clock.awake_ms()
        self._errands.run(
            lambda client: read(client, wanted),
            lambda answer: self._came(wanted, answer),
            self._failed,
            "dead letters",
        )

    def _came(self, wanted: Wanted, answer: Read) -> None:
        """An answer to what somebody has just asked for is shown; one that only is newer waits for its time."""
        self._reading, self.error = None, None
        self.known = True
        if wanted != self._shown:
            self._shown = wanted
            self._put(answer)
        else:
            self._pending = answer
        self._look()

    def _failed(self, error: JobctlError) -> None:
        self._reading, self.error = None, error
        self._stale = True
        self._changed(Dirty(all=True))
        self._look()

    def _put(self, answer: Read) -> None:
        self.read = answer
        wanted = self.wanted
        if wanted.flat:
            letters = [run for runs in answer.letters.values() for run in runs]
            letters.sort(key=lambda run: (str(run["finished_at"]), int(run["id"])), reverse=True)
            self._rows = [Letter(run, below=False) for run in letters]
        else:
            self._rows = rows(answer.groups, answer.letters, wanted.unfolded)
        self._places = {key(row): place for place, row in enumerate(self._rows)}
        self._changed(Dirty(all=True))


# ── in threads ─────────────────────────────────────────────


def read(client: Client, wanted: Wanted) -> Read:
    """What is shown of the dead letters."""
    if wanted.flat:
        letters = list(islice(client.dead(q=wanted.query or None), LOOKED_AT_MAX))
        return Read((), _by_fingerprint(letters), len(letters))
    groups = client.dead_groups(q=wanted.query or None)
    there = sorted({str(group["fingerprint"]) for group in groups} & wanted.unfolded)
    found = {each: list(client.dead(SHOWN_MAX, fingerprint=each, q=wanted.query or None)) for each in there}
    return Read(groups, dict(found), sum(int(group["count"]) for group in groups))


def letters_of(client: Client, wanted: Wanted, idents: Iterable[int], known: Read) -> list[Json]:
    """The dead letters that rows stand for, newest death first: those of a group are all that
    pass the filter, also those that there was no room for. What is no dead letter any more is left out."""
    found: dict[int, Json] = {}
    keys = set(idents)
    for group in known.groups:
        fingerprint = str(group["fingerprint"])
        if group_key(fingerprint) in keys:
            runs = client.dead(fingerprint=fingerprint, q=wanted.query or None)
            found |= {int(run["id"]): run for run in runs}
    for ident in keys:
        if ident > 0 and ident not in found:
            run = _run(client, ident)
            if run is not None and run["state"] == "dead":
                found[ident] = run
    return sorted(found.values(), key=lambda run: (str(run["finished_at"]), int(run["id"])), reverse=True)


def _run(client: Client, ident: int) -> Json | None:
    try:
        return client.run(ident)
    except NotFound:
        return None


def _by_fingerprint(letters: Iterable[Json]) -> dict[str, Sequence[Json]]:
    found: dict[str, list[Json]] = {}
    for run in letters:
        found.setdefault(str(run["fingerprint"]), []).append(run)
    return dict(found)
