"""GET /v1/jobs/{id}/ledger: every occurrence and what became of it."""

from typing import Annotated, Any

import msgspec
from aiohttp.web_response import StreamResponse

from jobctl import wire
from jobctl.errors import InvalidInput
from jobctl_daemon.api.answers import page
from jobctl_daemon.api.call import Call
from jobctl_daemon.api.limits import PAGE_DEFAULT, PAGE_MAX
from jobctl_daemon.api.queries import Query
from jobctl_daemon.rows import LedgerRow

_LATEST_MS = 253_402_300_799_000  # the end of the year 9999


class Span(Query, frozen=True):
    """Rows that touch [from, to]; everything unless given."""

    from_: str | None = msgspec.field(name="from", default=None)
    to: str | None = None
    limit: Annotated[int, msgspec.Meta(ge=1, le=PAGE_MAX)] = PAGE_DEFAULT
    cursor: str | None = None


async def ledger(call: Call) -> StreamResponse:
    """A page of rows, oldest first."""
    span = call.query(Span)
    job = await call.services.store.job(call.caller, call.selector)
    timezone = job.schedule.timezone if job.schedule else None
    from_ms = call.instant(span.from_, "from", timezone) or 0
    to_ms = call.instant(span.to, "to", timezone)
    start_ms, given = _position(span.cursor) if span.cursor else (from_ms, 0)
    rows = await call.services.store.ledger(
        call.caller, job.id, max(start_ms, from_ms), _LATEST_MS if to_ms is None else to_ms, span.limit + given + 1
    )
    if span.cursor:
        # A range that began before the cursor touches the span again, but was on an earlier page.
        rows = [row for row in rows if row.from_ms >= start_ms][given:]
    shown, more = rows[: span.limit], len(rows) > span.limit
    return page([_item(row) for row in shown], _cursor(shown, start_ms, given) if more else None)


def _cursor(shown: list[LedgerRow], start_ms: int, given: int) -> str:
    """Where the last row begins, and how many of those that begin there have been given."""
    last_ms = shown[-1].from_ms
    same = sum(row.from_ms == last_ms for row in shown)
    return f"{last_ms}.{same + given if last_ms == start_ms else same}"


def _position(cursor: str) -> tuple[int, int]:
    at, _, given = cursor.partition(".")
    if not (at.isascii() and at.isdigit() and given.isascii() and given.isdigit()) or len(cursor) > 24:
        raise InvalidInput("this is not a cursor of this list", "use the `next` of the page before", field="cursor")
    return int(at), min(int(given), PAGE_MAX)


def _item(row: LedgerRow) -> dict[str, Any]:
    return {
        "from": wire.rfc3339(row.from_ms),
        "to": wire.rfc3339(row.to_ms),
        "count": row.count,
        "run_id": row.run_id,
        "reason": row.reason,
        "detail": row.detail,
        "recorded_at": wire.rfc3339(row.at_ms),
    }
