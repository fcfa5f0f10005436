"""The output of runs goes to people by mail, as cron sends it: ends become runs of hidden jobs that deliver them.

The event log is the queue. A delivery is a run like any other, made once for each end together with the place up to
which ends have been looked at: whatever is killed in between, there is one mail. It runs as whom the run ran as, after
everything else, a few at once; its message is written when it starts, so what waits takes no room on the disk.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final

import structlog

from jobctl.clock import Clock
from jobctl.errors import NotFound
from jobctl.model import Event
from jobctl.states import MailOn
from jobctl_daemon.auditlog import AuditLog
from jobctl_daemon.decide import mails
from jobctl_daemon.decide.letters import Here
from jobctl_daemon.decide.mails import Delivered, End, Office
from jobctl_daemon.decide.unsent import MAILED, Troubles
from jobctl_daemon.health import Health
from jobctl_daemon.loop import Pass
from jobctl_daemon.rows import Mailing, Notice
from jobctl_daemon.store import Store
from jobctl_daemon.wake import Wake

BATCH: Final = 100
#: Events of any kind after which it looks, and after which it writes down the place: far fewer than are always kept.
_LOOK_EVERY: Final = 250
_BEHIND_MOST: Final = 500
_TOPIC: Final = "mail"


class _Seen:
    """What is known between two passes; after a pass that failed it is read anew."""

    def __init__(self, notes: dict[str, str], oldest: int) -> None:
        self.looked = int(notes.get(MAILED, oldest - 1))
        self.written = self.looked
        self.troubles = Troubles(notes)


class Mailer:
    """Woken by `heard`. `program` finds the mail program, each time: one that is installed later is used at once."""

    name = "mail"
    pace_ms = 100

    def __init__(
        self,
        store: Store,
        clock: Clock,
        health: Health,
        here: Here,
        sender: str,
        program: Callable[[], str | None],
        audit: AuditLog,
    ) -> None:
        self.wake = Wake()
        self._store = store
        self._clock = clock
        self._health = health
        self._here = here
        self._sender = sender
        self._program = program
        self._audit = audit
        self._seen: _Seen | None = None
        self._unlooked = 0
        self.crontab_mail: str = MailOn.OUTPUT
        """When lines of crontabs are mailed: output, failure or never."""
        self.held: Callable[[], bool] = _never
        """Whether mails, which are runs, must wait for want of room."""

    def heard(self, events: Sequence[Event]) -> None:
        """These were committed. While there is a warning any success may be that of a mail done again by hand."""
        self._unlooked += len(events)
        warned = _TOPIC in self._health.warnings
        news = any(mails.concerns(event) or (warned and event.kind == "run.succeeded") for event in events)
        if news or self._unlooked >= _LOOK_EVERY:
            self.wake.set()

    async def run_once(self) -> Pass:
        if self.held():
            return Pass()
        seen, self._seen = self._seen, None
        oldest, newest = await self._store.event_span()
        if seen is None:
            seen = _Seen(await self._store.meta(), oldest)
        self._unlooked = 0
        now_ms = self._clock.now_ms()
        if oldest > seen.looked + 1:
            structlog.get_logger().warning("mail.missed", oldest=oldest)
            seen.troubles.one_more("missed", now_ms)
            seen.looked = oldest - 1
        events = await self._store.mails(seen.looked, BATCH)
        wanted = await self._wanted(events, seen.troubles, now_ms)
        more = len(events) == BATCH
        seen.looked = events[-1].id if more else max([seen.looked, newest, *(event.id for event in events[-1:])])
        self._warn(seen.troubles.warning(now_ms))
        await self._write(seen, wanted, now_ms)
        self._seen = seen
        return Pass(did=len(wanted), again=more, next_ms=seen.troubles.next_ms())

    async def _wanted(self, events: Sequence[Event], troubles: Troubles, now_ms: int) -> list[Notice]:
        """The mails of these ends; what became of earlier ones is noted."""
        notices = []
        program = self._program() if events else None
        for event in events:
            read = mails.read(event)
            if isinstance(read, Delivered):
                await self._note(read, troubles, now_ms)
            elif read is not None and (mailing := await self._mailing(read)) is not None:
                if program is not None:
                    notices.append(mails.notice(read, mailing, Office(self._here, program, self._sender)))
                else:
                    troubles.one_more("unsent", now_ms)
                    self._audit.no_mail()
        return notices

    async def _mailing(self, end: End) -> Mailing | None:
        """What the mail of an end is made of, if there is to be one."""
        try:
            mailing = await self._store.mailing(end.run_id, end.fence)
        except NotFound:  # discarded or pruned meanwhile
            return None
        return mailing if mails.wanted(end, mailing, self.crontab_mail) else None

    async def _note(self, end: Delivered, troubles: Troubles, now_ms: int) -> None:
        if end.how == "sent":
            for kind in ("unsent", "failed"):
                troubles.over(kind)
            return
        troubles.one_more(end.how, now_ms)
        if end.how == "failed":
            with suppress(NotFound):
                mailing = await self._store.mailing(end.run_id, end.fence)
                self._audit.undelivered(mails.user_of(mailing), mailing.attempt.log_size or 0, end.status)

    async def _write(self, seen: _Seen, wanted: Sequence[Notice], now_ms: int) -> None:
        changes = seen.troubles.changes()
        if not wanted and not changes and seen.looked - seen.written < _BEHIND_MOST:
            return
        made = await self._store.tell(wanted, {**changes, MAILED: str(seen.looked)}, now_ms)
        seen.written = seen.looked
        seen.troubles.written()
        if wanted:
            structlog.get_logger().info("mail.posted", count=made)

    def _warn(self, words: str | None) -> None:
        if words is None:
            self._health.warnings.pop(_TOPIC, None)
        else:
            self._health.warnings[_TOPIC] = words


def _never() -> bool:
    return False
