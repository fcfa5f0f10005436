"""A method for each route of `docs/api.md`. Plain dicts in and out; errors are those of `jobctl.errors`."""

from collections.abc import Iterator, Mapping
from typing import Final
from urllib.parse import quote, urlencode

from jobctl.client.sse import Message, messages
from jobctl.client.transport import ANSWER_S, Json, Request, Response, Transport, checked

#: The daemon sends a comment on the event stream every 15 s; three missed ones mean that it is gone.
EVENTS_S: Final = 45.0
#: A large database takes its time to be copied and checked before the first byte of it is sent.
BACKUP_S: Final = 3600.0
#: A look at what a hundred thousand jobs have to come is made within two seconds, and others may ask for theirs before.
UPCOMING_S: Final = 60.0
#: Thousands of lines become jobs, and a file that is being written is waited for.
TABLES_S: Final = 300.0
#: Ten thousand lines become jobs before the answer comes: some 8 s on two busy cores.
CRONTAB_S: Final = 300.0
WAIT_S_MAX: Final = 60
#: The entity tag of a crontab that is not there.
NO_CRONTAB: Final = '"none"'

#: Parts of paths that stand where the name of a job may.
_OWN_PARTS: Final = frozenset({"window", "import"})

Query = Mapping[str, object]


def _target(path: str, query: Query | None = None) -> str:
    """`path` with a query of those values that are set; booleans travel as 1 and 0."""
    pairs = [
        (name, int(value) if isinstance(value, bool) else value)
        for name, value in (query or {}).items()
        if value is not None
    ]
    return f"{path}?{urlencode(pairs, errors='surrogateescape')}" if pairs else path


def _part(ident: object) -> str:
    """A part of a path. A job may be called as a route's own part is: the daemon compares that before it is decoded."""
    text = quote(str(ident), safe="", errors="surrogateescape")
    return f"%{ord(text[0]):02X}{text[1:]}" if text in _OWN_PARTS else text


def _edit(ident: object, changes: Json, rev: int | None, *, dry_run: bool | None = None) -> Request:
    headers = {"If-Match": f'"{rev}"'} if rev is not None else {}
    return Request("PATCH", _target(f"/v1/jobs/{_part(ident)}", {"dry_run": dry_run}), changes, headers)


def _set(**fields: object) -> Json:
    """A body of those fields that are given."""
    return {name: value for name, value in fields.items() if value is not None}


def _resume(catch_up: bool) -> Json | None:
    return {"catch_up": True} if catch_up else None


class Client:
    """Every route as a method."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def _send(self, request: Request) -> Response:
        return checked(self._transport(request))

    def _get(self, path: str, query: Query | None = None, timeout_s: float | None = ANSWER_S) -> Json:
        answer: Json = self._send(Request("GET", _target(path, query), timeout_s=timeout_s)).json()
        return answer

    def _post(self, path: str, body: object = None, key: str | None = None, query: Query | None = None) -> Json:
        headers = {"Idempotency-Key": key} if key is not None else {}
        answer: Json = self._send(Request("POST", _target(path, query), body, headers)).json()
        return answer

    def _items(self, path: str, query: Query, limit: int | None) -> Iterator[Json]:
        """All pages, or the first `limit` items."""
        cursor: str | None = None
        left = limit
        while left is None or left > 0:
            page = self._get(path, {**query, "limit": min(left or 1000, 1000), "cursor": cursor})
            items: list[Json] = page["items"]
            yield from items if left is None else items[:left]
            left = None if left is None else left - len(items)
            cursor = page.get("next")
            if not cursor or not items:
                return

    # jobs

    def create_job(self, draft: Json, key: str | None = None) -> Json:
        return self._post("/v1/jobs", draft, key)

    def preview_job(self, draft: Json) -> Json:
        """`{"job", "preview", "warnings"}` of a job that is not stored."""
        return self._post("/v1/jobs", draft, query={"dry_run": True})

    def import_jobs(self, drafts: list[Json]) -> list[Json]:
        """All or none."""
        items: list[Json] = self._post("/v1/jobs/import", {"jobs": drafts})["items"]
        return items

    def apply(self, path: str, drafts: list[Json], **how: object) -> Json:
        """`{"path", "items", "notes"}`: the jobs that a file declares, all or none. How: prune, adopt, dry_run, take,
        leave."""
        return self._post("/v1/apply", {"path": path, "jobs": drafts, **how})

    def apply_folder(self, **how: bool) -> Json:
        """`{"folder", "files"}`: what is in jobs.d, now. How: adopt, dry_run."""
        return self._post("/v1/apply", how)

    def jobs(self, limit: int | None = None, **filters: object) -> Iterator[Json]:
        """By name; filters: state queue owner q tag source done."""
        return self._items("/v1/jobs", filters, limit)

    def jobs_window(self, offset: int = 0, limit: int = 100, **asked: object) -> Json:
        """`{"event", "total", "offset", "items": [JobLine]}`; asked: sort reverse q around."""
        return self._get("/v1/jobs/window", {**asked, "offset": offset, "limit": limit})

    def job(self, ident: object) -> Json:
        """By id, name, or a unique prefix of the uid."""
        return self._get(f"/v1/jobs/{_part(ident)}")

    def edit_job(self, ident: object, changes: Json, rev: int | None = None) -> Json:
        """The job as it is now; `Conflict` when `rev` is no longer the job's."""
        answer: Json = self._send(_edit(ident, changes, rev)).json()
        return answer

    def preview_edit(self, ident: object, changes: Json, rev: int | None = None) -> Json:
        """`{"job", "before", "preview", "changes", "warnings"}` of an edit that is not made."""
        answer: Json = self._send(_edit(ident, changes, rev, dry_run=True)).json()
        return answer

    def delete_job(self, ident: object, *, cancel_runs: bool = False) -> None:
        target = _target(f"/v1/jobs/{_part(ident)}", {"runs": "cancel"} if cancel_runs else None)
        self._send(Request("DELETE", target)).close()

    def pause_job(self, ident: object, until: str | None = None, why: str | None = None) -> Json:
        return self._post(f"/v1/jobs/{_part(ident)}/pause", _set(until=until, why=why))

    def resume_job(self, ident: object, *, catch_up: bool = False) -> Json:
        return self._post(f"/v1/jobs/{_part(ident)}/resume", _resume(catch_up))

    def skip_next(self, ident: object, count: int = 1, why: str | None = None) -> Json:
        """Leaves out the next occurrences."""
        return self._post(f"/v1/jobs/{_part(ident)}/skip", {"count": count, **_set(why=why)})

    def unskip(self, ident: object) -> Json:
        """What is left out and has not passed comes after all; `Conflict` when nothing is."""
        return self._post(f"/v1/jobs/{_part(ident)}/skip", {"count": 0})

    def trigger(self, ident: object, body: Json, key: str | None = None) -> Json:
        return self._post(f"/v1/jobs/{_part(ident)}/runs", body, key)

    def job_runs(self, ident: object, limit: int | None = None, **filters: object) -> Iterator[Json]:
        """Newest first; filters: before since state."""
        return self._items(f"/v1/jobs/{_part(ident)}/runs", filters, limit)

    def ledger(self, ident: object, since: str | None, until: str | None, limit: int | None = None) -> Iterator[Json]:
        """Every occurrence and what became of it, oldest first."""
        return self._items(f"/v1/jobs/{_part(ident)}/ledger", {"from": since, "to": until}, limit)

    def job_next(self, ident: object, n: int, since: str | None = None, until: str | None = None) -> Json:
        return self._get(f"/v1/jobs/{_part(ident)}/next", {"n": n, "from": since, "until": until})

    def durations(self, ident: object, limit: int | None = None) -> Json:
        """`{"count", "p50", "p95", "items"}`: how long the last runs took, and how long they usually take."""
        return self._get(f"/v1/jobs/{_part(ident)}/durations", {"limit": limit})

    def upcoming(
        self,
        *,
        hours: int = 24,
        cells: int = 48,
        since: str | None = None,
        q: str | None = None,
        job: int | None = None,
        offset: int = 0,
        limit: int = 100,
    ) -> Json:
        """The next hours, or those from `since` on: a lane of cells for each job, and what all jobs come to. Of 100,000
        jobs it takes seconds; `job`: of that one alone, and at once."""
        query = {"hours": hours, "cells": cells, "since": since, "q": q, "job": job, "offset": offset, "limit": limit}
        return self._get("/v1/upcoming", query, timeout_s=UPCOMING_S)

    # runs

    def create_run(self, draft: Json, key: str | None = None) -> Json:
        return self._post("/v1/runs", draft, key)

    def runs(self, limit: int | None = None, **filters: object) -> Iterator[Json]:
        """Newest first; filters: state owner q before since."""
        return self._items("/v1/runs", filters, limit)

    def runs_window(self, offset: int = 0, limit: int = 100, **asked: object) -> Json:
        """As `jobs_window`, of RunLine, with `active` and `today`; asked: q around."""
        return self._get("/v1/runs/window", {**asked, "offset": offset, "limit": limit})

    def run(self, ident: object, wait_s: int | None = None) -> Json:
        """The run; with `wait_s` as soon as it is final, or after so many seconds."""
        return self._get(f"/v1/runs/{_part(ident)}", {"wait": wait_s}, timeout_s=ANSWER_S + (wait_s or 0))

    def work(self, ident: object) -> Json:
        """What the run executes: target, stdin, env, cwd, user and their kin; `edited` when a replay changed it."""
        return self._get(f"/v1/runs/{_part(ident)}/work")

    def attempts(self, ident: object) -> list[Json]:
        return list(self._items(f"/v1/runs/{_part(ident)}/attempts", {}, None))

    def cancel_run(self, ident: object, grace_s: float | None = None) -> Json:
        return self._post(f"/v1/runs/{_part(ident)}/cancel", query={"grace": grace_s})

    def kill_run(self, ident: object) -> Json:
        return self._post(f"/v1/runs/{_part(ident)}/kill")

    def retry_run(self, ident: object, key: str | None = None) -> Json:
        """`{"how": "now"|"replayed"|"again", "run"}`."""
        return self._post(f"/v1/runs/{_part(ident)}/retry", key=key)

    def log(
        self,
        ident: object,
        *,
        attempt: int | None = None,
        offset: int = 0,
        limit: int | None = None,
        follow: bool = False,
    ) -> Response:
        """The answer whose pieces are the log's bytes. Following waits for as long as the attempt is silent."""
        query = {"attempt": attempt, "offset": offset, "limit": limit, "follow": follow or None}
        target = _target(f"/v1/runs/{_part(ident)}/log", query)
        return self._send(Request("GET", target, timeout_s=None if follow else ANSWER_S))

    def log_times(self, ident: object, attempt: int | None = None) -> Json:
        """`{"attempt", "complete", "items": [[bytes, time]…]}`: by when how much of a log had been written."""
        return self._get(f"/v1/runs/{_part(ident)}/log/times", {"attempt": attempt})

    # dead letters

    def dead(self, limit: int | None = None, **filters: object) -> Iterator[Json]:
        """Newest death first; filters: job class fingerprint q since until."""
        return self._items("/v1/dead", filters, limit)

    def dead_groups(self, **filters: object) -> list[Json]:
        """By fingerprint, the largest first; at most 1000, on one page."""
        items: list[Json] = self._get("/v1/dead/groups", {**filters, "limit": 1000})["items"]
        return items

    def replay(self, body: Json, key: str | None = None) -> Json:
        """`{"batch", "replayed": [id], "skipped": [{"id", "reason"}]}`; the same key does it once."""
        return self._post("/v1/dead/replay", body, key)

    def discard(self, body: Json) -> list[int]:
        """The ids of those that were discarded."""
        ids: list[int] = self._post("/v1/dead/discard", body)["discarded"]
        return ids

    # the crontabs of the host

    def crontabs(self) -> Json:
        """`live`, and each table as the daemon has read it."""
        return self._get("/v1/crontabs")

    def set_crontabs_live(self, *, on: bool, since: str | None = None, force: bool = False) -> Json:
        """Take all tables over, from the instant `since` (RFC 3339) on, or let them go. For root.

        A daemon with many tables takes its time. `force`: also while a cron daemon runs, which runs them too.
        """
        body = {"on": on, **_set(since=since, force=force or None)}
        request = Request("POST", "/v1/crontabs/live", body, {}, timeout_s=TABLES_S)
        answer: Json = self._send(request).json()
        return answer

    # the user's own crontab

    def crontab(self, user: str | None = None) -> Json:
        """`{"user", "path", "base64", "problems", "etag"}`; `NotFound` when there is none."""
        response = self._send(Request("GET", _target("/v1/crontab", {"user": user})))
        found: Json = response.json()
        return {**found, "etag": response.headers.get("etag")}

    def put_crontab(self, data: bytes, user: str | None = None, etag: str | None = None) -> Json:
        """Installs it. `CallerError` with `problems` when lines are refused; `Conflict` when it is not as `etag` says.

        `etag` of a table that was not there is NO_CRONTAB.
        """
        from base64 import b64encode

        headers = {"If-Match": etag} if etag is not None else {}
        body = {"base64": b64encode(data).decode("ascii")}
        request = Request("PUT", _target("/v1/crontab", {"user": user}), body, headers, timeout_s=CRONTAB_S)
        answer: Json = self._send(request).json()
        return answer

    def delete_crontab(self, user: str | None = None) -> None:
        self._send(Request("DELETE", _target("/v1/crontab", {"user": user}))).close()

    # owners

    def owners(self) -> list[Json]:
        """By name; all on one page. For root."""
        items: list[Json] = self._get("/v1/owners")["items"]
        return items

    def rename_owner(self, old: str, new: str, uid: int | None = None) -> Json:
        """What the owner `old` had (the one with `uid`) is the account's `new` from now on. For root."""
        return self._post(f"/v1/owners/{_part(old)}/rename", {"to": new, **_set(uid=uid)})

    # queues, and the daemon as a whole

    def queues(self) -> list[Json]:
        """By name; all on one page."""
        items: list[Json] = self._get("/v1/queues")["items"]
        return items

    def set_queue(self, name: str, concurrency: int | None) -> Json:
        request = Request("PUT", f"/v1/queues/{_part(name)}", {"concurrency": concurrency})
        answer: Json = self._send(request).json()
        return answer

    def pause_queue(self, name: str, until: str | None = None, why: str | None = None) -> Json:
        return self._post(f"/v1/queues/{_part(name)}/pause", _set(until=until, why=why))

    def resume_queue(self, name: str, *, catch_up: bool = False) -> Json:
        return self._post(f"/v1/queues/{_part(name)}/resume", _resume(catch_up))

    def pause_daemon(self, until: str | None = None, why: str | None = None) -> Json:
        return self._post("/v1/daemon/pause", _set(until=until, why=why))

    def resume_daemon(self, *, catch_up: bool = False) -> Json:
        return self._post("/v1/daemon/resume", _resume(catch_up))

    # the daemon

    def events(
        self, *, after: int | None = None, kind: str | None = None, follow: bool = False, snapshot: bool = False
    ) -> Iterator[Message]:
        return messages(self.event_stream(after=after, kind=kind, follow=follow, snapshot=snapshot).pieces())

    def event_stream(
        self, *, after: int | None = None, kind: str | None = None, follow: bool = False, snapshot: bool = False
    ) -> Response:
        """The same before it is cut into messages: comments are in it, and another thread can hang it up."""
        query = {"after": after, "kind": kind, "follow": follow, "snapshot": snapshot or None}
        request = Request(
            "GET", _target("/v1/events", query), headers={"Accept": "text/event-stream"}, timeout_s=EVENTS_S
        )
        return self._send(request)

    def preview(self, draft: Json) -> Json:
        return self._post("/v1/schedule/preview", draft)

    def status(self) -> Json:
        """Of a daemon of another protocol too: what is in it may then be other than docs/api.md says."""
        return self._of_any("GET", "/v1/status")

    def ready(self) -> Json:
        """`{"status": "ok"}`, or `Unavailable` with the reason."""
        return self._get("/v1/health/ready")

    def daemon_log(self, lines: int = 50) -> list[Json]:
        """`{"at", "level", "text"}` of the last lines, oldest first. For who operates the daemon."""
        items: list[Json] = self._get("/v1/daemon/log", {"lines": lines})["items"]
        return items

    def stop_daemon(self) -> Json:
        """Of any protocol."""
        return self._of_any("POST", "/v1/daemon/stop")

    def _of_any(self, method: str, path: str) -> Json:
        answer: Json = checked(self._transport(Request(method, path, timeout_s=ANSWER_S)), any_protocol=True).json()
        return answer

    def doctor(self, *, deep: bool = False) -> list[Json]:
        """Findings of the daemon: `{"check", "level", "text", "hint"}`; `deep` reads the whole database."""
        target = _target("/v1/doctor", {"deep": deep or None})
        items: list[Json] = self._send(Request("GET", target, timeout_s=BACKUP_S if deep else ANSWER_S)).json()["items"]
        return items

    def backup(self) -> Response:
        """The answer whose pieces are a copy of the database; its headers say what it holds, and its SHA-256."""
        return self._send(Request("POST", "/v1/backup", timeout_s=BACKUP_S))
