"""`jobctl runs -f`: a line for each run that begins or ends."""

from typing import Any, Final, NamedTuple

from jobctl.cli import describe
from jobctl.cli.runs_listed import FIELDS, listed
from jobctl.cli.select import find_job
from jobctl.cli.session import Session
from jobctl.cli.stream import followed, newest
from jobctl.client.sync import Client
from jobctl.errors import NotFound
from jobctl.reading.times import Viewer

#: What becomes of a run with an event, in the words of --state.
_STATES: Final = {
    "run.running": "running", "run.retrying": "ready", "run.succeeded": "succeeded", "run.failed": "failed",
    "run.dead": "dead", "run.cancelled": "cancelled", "run.skipped": "skipped", "run.superseded": "superseded",
}  # fmt: skip
_ACTIVE: Final = ("scheduled", "ready", "running")
_JOB_WIDTH: Final = 20

Json = dict[str, Any]


class _Known(NamedTuple):
    """What was said of a run before the events began."""

    attempt: int
    ended: bool


def follow_runs(session: Session, client: Client, job: str | None, limit: int, filters: Json) -> None:
    """Those that there are, oldest first, and then what happens; never returns.

    Events are heard from before the list was read: of those up to its end, what the list has told is left out.
    """
    states = frozenset(str(filters["state"]).split(",")) if filters.get("state") else None
    begin = newest(client)
    runs = list(listed(client, job, limit, filters))[::-1]
    end = newest(client)
    known = {run["id"]: _Known(int(run["attempt"]), run["state"] not in _ACTIVE) for run in runs}
    of_job = _job_id(client, job)
    printer = _Printer(session)
    for run in runs:
        printer.run(run)
    for event in followed(session, client, begin, "run"):
        state = _STATES.get(event["kind"])
        if state is None or (states is not None and state not in states) or of_job not in (None, event["job_id"]):
            continue
        if (event["id"] > end or not _told(known, event)) and _matches(client, filters.get("q"), event["run_id"]):
            printer.event(event, _run(client, event["run_id"]))


def _job_id(client: Client, job: str | None) -> int | None:
    """None: of all. A name that no job has any more has no new runs either."""
    if job is None:
        return None
    try:
        return int(find_job(client, job)["id"])
    except NotFound:
        return 0


def _matches(client: Client, query: str | None, run_id: int) -> bool:
    """Whether the run is one of those that a filter lets through, which the daemon alone can say."""
    if not query:
        return True
    found = client.runs_window(limit=1, q=query, around=run_id)["items"]
    return bool(found and found[0]["id"] == run_id)


def _told(known: dict[int, _Known], event: Json) -> bool:
    """Whether the list has shown what this event says."""
    shown = known.get(event["run_id"])
    if shown is None:
        return False
    return shown.ended or (event["kind"] == "run.running" and event["data"].get("attempt", 1) <= shown.attempt)


def _run(client: Client, run_id: int) -> Json | None:
    """As it is by now, which may be later than the event; None when it is no longer kept."""
    try:
        return client.run(run_id)
    except NotFound:
        return None


class _Printer:
    """In the format that was asked for, a line at a time."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._render = session.render
        if self._render.output == "json":
            session.common.output = self._render.output = "ndjson"
        if self._render.output == "csv":
            self._render.csv(FIELDS, ())

    def run(self, run: Json) -> None:
        """One that there was before."""
        if not self._machine(run, run["id"], {"event": None, "kind": None, "run": run}):
            at = run["finished_at"] or run["started_at"] or run["due_at"]
            self._line(at, run["id"], run["job"], _now(run, self._session.viewer), str(run["state"]))

    def event(self, event: Json, run: Json | None) -> None:
        """What happens; `run` tells more, as long as it is still what the event says."""
        state = _STATES[event["kind"]]
        whole = {"event": event["id"], "at": event["at"], "kind": event["kind"], "run": run}
        if self._machine(run or {"id": event["run_id"]}, event["run_id"], whole):
            return
        name = run["job"] if run else str(event["data"].get("name") or f"job {event['job_id']}")
        self._line(event["at"], event["run_id"], name, _then(event, state, run, self._session.viewer), state)

    def _machine(self, run: Json, run_id: int, whole: Json) -> bool:
        if self._render.output == "ndjson":
            self._render.json(whole)
        elif self._render.output == "csv":
            self._render.csv_rows([[run.get(field) for field in FIELDS]])
        elif self._render.output == "name":
            self._render.names([str(run_id)])
        return self._render.machine

    def _line(self, at: str, run_id: int, job: str, text: str, state: str) -> None:
        when = self._session.viewer.clock(at, exact=True)
        style = describe.state(state).style
        self._render.columns([(when, ""), (f"{run_id:>6}", ""), (job.ljust(_JOB_WIDTH), ""), (text, style)])


def _now(run: Json, viewer: Viewer) -> str:
    taken = describe.run_time(run, viewer)
    if run["state"] == "running":
        return f"running for {describe.run_age(run, viewer)}"
    return describe.result(run, viewer) + (f" after {taken}" if taken and run["finished_at"] else "")


def _then(event: Json, state: str, run: Json | None, viewer: Viewer) -> str:
    """What the event says, with how long it took where the run still is what it says."""
    data = event["data"]
    attempt = int(data.get("attempt") or 1)
    if state == "running":
        return "begins" if attempt == 1 else f"begins, attempt {attempt}"
    if state == "ready":
        return f"failed: {describe.failure(data)}; it is tried again" + (
            f", {viewer.ago(run['due_at'])}" if run and run["state"] == "ready" else ""
        )
    if run and run["state"] == state:
        return _now(run, viewer)
    return describe.outcome({"state": state, **data})
