"""A small daemon of docs/api.md on a real Unix socket: enough state to drive every verb, and switches for trouble."""

import json
import re
import socketserver
import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, unquote, urlsplit

from jobctl.filters import parse

Json = dict[str, Any]
PREVIEW = {
    "schema": 1,
    "words": "every day at 03:00",
    "timezone": "Europe/Berlin",
    "items": [
        {"at": "2026-11-30T02:00:00Z", "local": "2026-11-30T03:00:00+01:00", "zone": "CET", "note": None},
        {"at": "2026-12-01T02:00:00Z", "local": "2026-12-01T03:00:00+01:00", "zone": "CET", "note": None},
    ],
    "transitions": [],
    "warnings": [],
}
STATUS: Json = {
    "schema": 1, "version": "0.1.0", "protocol": 1, "pid": 812, "runner_pid": 813,
    "runners": [{"instance": "a", "pid": 813, "version": "0.1.0", "running": 0, "kill_by": "group", "draining": False}],
    "state": "running", "started_at": "2026-11-29T02:00:00Z", "uptime_s": 4361.5, "now": "2026-11-29T02:12:41Z",
    "timezone": "Europe/Berlin", "timezone_from": "/etc/localtime", "tzdata": "2026b", "host": "h", "user": "ana",
    "system": False, "home": None, "socket": "/s", "state_dir": "/nowhere", "database_bytes": 4096, "slots": 512,
    "running": 0, "ready": 0, "retrying": 0, "scheduled": 1, "oldest_due_s": None,
    "start_lag": {"count": 3, "p50_ms": 4, "p99_ms": 9, "max_ms": 9},
    "loop_lag": {"count": 300, "p50_ms": 0, "p99_ms": 3, "max_ms": 9}, "standbys": [],
    "jobs": {"total": 1, "paused": 0, "failed": 0, "parked": 0}, "next_run_at": "2026-11-30T02:00:00Z", "last_event": 3,
    "services": {"due scan": {"beats": 3, "last_s": 0.1, "error": None}}, "warnings": [],
    "returns_after_reboot": True, "returns_after_reboot_why": "systemd unit jobd.service",
    "dead": {"total": 0, "newest_at": None}, "skipping": 0, "quarantined": 0, "untold": 0, "paused": None,
    "clock": {"synchronised": True, "generation": 0, "last_step": None, "last_down": None},
}  # fmt: skip


def job(number: int, name: str, **changed: Any) -> Json:
    """A job as the API shows it."""
    plain: Json = {
        "id": number, "uid": f"01f{number:013d}", "name": name, "owner": "ana", "state": "ok", "enabled": True,
        "paused": False, "paused_by": None, "paused_since": None, "paused_until": None, "paused_why": None,
        "suspended_by": None, "suspended_since": None, "suspended_until": None, "suspended_why": None,
        "quarantined": False,
        "schedule": {"timezone": "Europe/Berlin", "words": "every day at 03:00", "cron": "0 3 * * *"},
        "target": {"command": ["/usr/bin/true"]}, "stdin": None, "payload_ref": None, "env": {}, "env_file": None,
        "user": None, "cwd": None, "path": "/usr/bin:/bin", "umask": "022", "nice": 0, "timeout": None, "grace": 10,
        "late_after": 10, "overlap": "skip", "misfire": "once", "misfire_within": 86400, "overlap_queue": 1,
        "limit": None, "retry": {"max": 3, "backoff": 10, "backoff_max": 3600, "no_retry_on": [], "on_lost": "retry",
        "lost": 3},
        "on_failure": "dead", "notify": [], "mail": None, "log_max": 10_000_000, "queue": "default",
        "priority": 0, "version": 1, "rev": 1, "next_run_at": "2026-11-30T02:00:00Z", "last_run": None, "running": 0,
        "retrying": 0, "dead": 0, "skipping": 0, "error": None, "tags": [], "note": None, "source": "cli",
        "created_at": "2026-11-28T12:00:00Z",
    }  # fmt: skip
    return plain | changed


def run(number: int, of: Json, **changed: Any) -> Json:
    """A run as the API shows it: succeeded, if nothing else is said."""
    plain: Json = {
        "id": number, "key": f"{of['uid']}@{number}", "job_id": of["id"], "job": of["name"],
        "queue": of.get("queue", "default"), "version": 1, "edited": False,
        "trigger": "schedule", "scheduled_at": "2026-11-29T02:00:00Z", "due_at": "2026-11-29T02:00:00Z",
        "started_at": "2026-11-29T02:00:00.120Z", "finished_at": "2026-11-29T02:00:41.120Z", "state": "succeeded",
        "outcome": "ok", "class": None, "reason": None, "attempt": 1, "uncounted": 0,
        "max_attempts": 1, "replays": 0, "put_back": None, "retry_of": None, "error": None, "fingerprint": None,
        "fence": 1, "node": "h",
        "lease_until": None, "exit_code": 0, "signal": None, "late": False, "coalesced": 0,
    }  # fmt: skip
    return plain | changed


def work(of: Json, **changed: Any) -> Json:
    """What a run of a job executes, as it is recorded."""
    names = ("target", "stdin", "payload_ref", "env", "env_file", "user", "cwd", "version")
    return {**{name: of[name] for name in names}, "edited": False} | changed


def attempt(of: Json, **changed: Any) -> Json:
    plain: Json = {
        "run_id": of["id"], "attempt": 1, "fence": 1, "node": "h", "pid": 4242, "claimed_at": of["due_at"],
        "started_at": of["started_at"], "ended_at": of["finished_at"], "exit_code": of["exit_code"],
        "signal": of["signal"], "class": of["class"], "detail": None, "cpu": 0.4, "max_rss": 9_000_000, "log_size": 6,
        "log_dropped": 0, "signals": [], "left_behind": [],
    }  # fmt: skip
    return plain | changed


def dead(number: int, of: Json, **changed: Any) -> Json:
    """A dead letter: exit 1 in each of its four attempts."""
    died: Json = {
        "state": "dead", "outcome": "exit_code", "class": "exit_code", "exit_code": 1, "attempt": 4, "max_attempts": 4,
        "reason": "exit 1; out of retries", "error": "disk is full", "fingerprint": "3f2a91c07d18", "fence": 9,
    }  # fmt: skip
    return run(number, of, **(died | changed))


def queue(name: str, **changed: Any) -> Json:
    plain: Json = {
        "name": name, "concurrency": None, "jobs": 1, "ready": 0, "running": 0, "paused": False, "paused_by": None,
        "paused_since": None, "paused_until": None, "paused_why": None,
    }  # fmt: skip
    return plain | changed


def owner(name: str) -> Json:
    return {"uid": 1001, "name": name, "jobs": 1, "account": "ok", "uid_is_now": None}


class Asked(NamedTuple):
    """One request, as it arrived."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: Any


class Answer(NamedTuple):
    status: int
    body: Any = None
    headers: Mapping[str, str] = MappingProxyType({})
    cut: bool = False
    """Close in the middle of a chunked body."""


def problem(status: int, code: str, message: str, hint: str = "", field: str | None = None) -> Answer:
    body = {"type": "about:blank", "status": status, "code": code, "title": message, "detail": message, "hint": hint,
            "field": field}  # fmt: skip
    return Answer(status, body, {"Content-Type": "application/problem+json"})


Handler = Callable[[Asked, "re.Match[str]"], Answer]


class FakeDaemon:
    """Listens until closed. `asked` has every request; `override` answers before the usual routes do."""

    def __init__(self, path: Path) -> None:
        self.path = str(path)
        self.jobs: list[Json] = []
        self.runs: list[Json] = []
        self.ledger: list[Json] = []
        self.durations: dict[int, Json] = {}
        self.times: dict[int, list[Any]] = {}
        self.said: list[Json] = []
        self.upcoming: Json = {}
        self.queues: list[Json] = [queue("default")]
        self.works: dict[int, Json] = {}
        """What runs execute, where it is not their job's definition."""
        self.keys: dict[str, Json] = {}
        """What was answered under an idempotency key."""
        self.events: list[Json] = []
        self.logs: dict[int, bytes] = {}
        self.status = dict(STATUS, socket=self.path, state_dir=str(path.parent))
        self.asked: list[Asked] = []
        self.protocol: str | None = "1"
        self._overrides: list[tuple[str, re.Pattern[str], Handler]] = []
        self._server: _Server | None = None
        self.open()

    def open(self) -> None:
        daemon = self

        class Connection(_Connection):
            fake = daemon

        self._server = _Server(self.path, Connection)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self._thread.start()

    def close(self, *, unlink: bool = True) -> None:
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._thread.join()
            self._server = None
            if unlink:
                Path(self.path).unlink(missing_ok=True)

    def override(self, method: str, path: str, handler: Handler | Answer) -> None:
        """Answer `path` (a regular expression, whole) with this from now on."""
        given = handler if callable(handler) else lambda asked, match: handler
        self._overrides.insert(0, (method, re.compile(path), given))

    def posted(self, path: str) -> list[Any]:
        """The bodies that were sent to a path."""
        return [asked.body for asked in self.asked if asked.method == "POST" and asked.path == path]

    def answer(self, asked: Asked) -> Answer:
        self.asked.append(asked)
        for method, pattern, handler in self._overrides:
            match = pattern.fullmatch(asked.path)
            if match and method == asked.method:
                return handler(asked, match)
        for method, pattern, route in _ROUTES:
            match = pattern.fullmatch(asked.path)
            if match and method == asked.method:
                return route(self, asked, match)
        return problem(404, "not_found", f"there is nothing at {asked.path}")

    def find_job(self, ident: str) -> Json | None:
        ident = unquote(ident)
        return next((item for item in self.jobs if ident in (str(item["id"]), item["name"], item["uid"])), None)

    def find_run(self, ident: str) -> Json | None:
        return next((item for item in self.runs if str(item["id"]) == ident), None)


class _Server(socketserver.ThreadingUnixStreamServer):
    def handle_error(self, request: object, client_address: object) -> None:
        """A caller that went away is what some tests are about."""


class _Connection(BaseHTTPRequestHandler):
    fake: FakeDaemon
    protocol_version = "HTTP/1.1"

    def address_string(self) -> str:
        return "unix"

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        return

    def _serve(self) -> None:
        parts = urlsplit(self.path)
        length = int(self.headers.get("Content-Length") or 0)
        data = self.rfile.read(length)
        asked = Asked(
            self.command,
            parts.path,
            dict(parse_qsl(parts.query)),
            dict(self.headers),
            json.loads(data) if data else None,
        )
        answer = self.fake.answer(asked)
        body = (
            answer.body
            if isinstance(answer.body, bytes)
            else b""
            if answer.body is None
            else json.dumps(answer.body).encode()
        )
        self.close_connection = True
        self.send_response(answer.status)
        if self.fake.protocol is not None:
            self.send_header("Jobctl-Protocol", self.fake.protocol)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        if "Transfer-Encoding" not in answer.headers:
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
            return
        self.end_headers()
        if body:
            self.wfile.write(f"{len(body):x}\r\n".encode() + body + b"\r\n")
        if not answer.cut:
            self.wfile.write(b"0\r\n\r\n")

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _serve  # noqa: N815


def _page(items: list[Json], asked: Asked) -> Answer:
    limit = int(asked.query.get("limit", 100))
    start = int(asked.query.get("cursor", 0))
    more = start + limit < len(items)
    return Answer(
        200, {"schema": 1, "items": items[start : start + limit], "next": str(start + limit) if more else None}
    )


def _is(item: Json, word: str) -> bool:
    """Whether it is in the state, or that holds beside its state."""
    beside = {
        "failed": (item["last_run"] or {}).get("state") in ("failed", "dead"),
        "paused": item["suspended_by"] is not None,
        "running": item["running"] > 0,
        "parked": item["error"] is not None,
    }
    return item["state"] == word or bool(beside.get(word))


def _jobs(fake: FakeDaemon, asked: Asked, match: "re.Match[str]") -> Answer:
    words = asked.query.get("state", "").split(",")
    found = [item for item in fake.jobs if words == [""] or any(_is(item, word) for word in words)]
    found = [item for item in found if "tag" not in asked.query or asked.query["tag"] in item["tags"]]
    return _page(sorted(found, key=lambda item: str(item["name"])), asked)


def _jobs_window(fake: FakeDaemon, asked: Asked, match: "re.Match[str]") -> Answer:
    """By name, or by the next fire; the fields that the command line reads."""
    lines = [
        {"id": item["id"], "name": item["name"], "owner": item["owner"], "next_run_at": item["next_run_at"],
         "tags": item["tags"], "recent": "..x>", "p50": 41, "p95": 62.5}
        for item in sorted(fake.jobs, key=lambda item: str(item["name"]))
    ]  # fmt: skip
    if asked.query.get("sort") == "next":
        lines.sort(key=lambda line: (line["next_run_at"] is None, str(line["next_run_at"])))
    offset, limit = int(asked.query["offset"]), int(asked.query["limit"])
    if "around" in asked.query:
        offset = next((at for at, line in enumerate(lines) if str(line["id"]) == asked.query["around"]), 0)
    answer = {"schema": 1, "event": fake.status["last_event"], "total": len(lines), "offset": offset}
    return Answer(200, {**answer, "items": lines[offset : offset + limit]})


def _runs_window(fake: FakeDaemon, asked: Asked, match: "re.Match[str]") -> Answer:
    """Active ones first."""
    active = [item for item in fake.runs if item["state"] in ("scheduled", "ready", "running")]
    lines = [{**item, "p50": 41, "p95": 62.5} for item in (*active, *(run for run in fake.runs if run not in active))]
    answer = {"schema": 1, "event": fake.status["last_event"], "total": len(lines), "offset": 0, "today": {}}
    return Answer(200, {**answer, "active": len(active), "items": lines[: int(asked.query["limit"])]})


def _durations(fake: FakeDaemon, asked: Asked, found: Json) -> Answer:
    return Answer(
        200, fake.durations.get(found["id"], {"schema": 1, "count": 0, "p50": None, "p95": None, "items": []})
    )


def _log_times(fake: FakeDaemon, asked: Asked, found: Json) -> Answer:
    return Answer(200, {"schema": 1, "attempt": 1, "complete": True, "items": fake.times.get(found["id"], [])})


def _upcoming(fake: FakeDaemon, asked: Asked, match: "re.Match[str]") -> Answer:
    limit = int(asked.query["limit"])
    return Answer(200, {**fake.upcoming, "items": fake.upcoming["items"][:limit]})


def _add(fake: FakeDaemon, asked: Asked, match: "re.Match[str]") -> Answer:
    body = asked.body
    taken = {"target": body["target"], "paused": body.get("paused", False), "stdin": body.get("stdin")}
    made = job(len(fake.jobs) + 1, body.get("name") or "made", **taken)
    if "schedule" not in body:
        made |= {"schedule": None, "next_run_at": None}
    else:
        made["schedule"] = {"timezone": body.get("timezone", "Europe/Berlin"), "words": "in words", **body["schedule"]}
    if asked.query.get("dry_run") == "1":
        return Answer(200, {"job": made, "preview": PREVIEW, "warnings": []})
    fake.jobs.append(made)
    return Answer(201, made)


def _one_job(act: Callable[[FakeDaemon, Asked, Json], Answer]) -> Callable[..., Answer]:
    def handler(fake: FakeDaemon, asked: Asked, match: "re.Match[str]") -> Answer:
        found = fake.find_job(match[1])
        return act(fake, asked, found) if found else problem(404, "not_found", f"no job {unquote(match[1])}")

    return handler


def _one_run(act: Callable[[FakeDaemon, Asked, Json], Answer]) -> Callable[..., Answer]:
    def handler(fake: FakeDaemon, asked: Asked, match: "re.Match[str]") -> Answer:
        found = fake.find_run(match[1])
        return act(fake, asked, found) if found else problem(404, "not_found", f"no run {match[1]}")

    return handler


def _edit(fake: FakeDaemon, asked: Asked, found: Json) -> Answer:
    """Null is the default again; env and retry are merged, the rest is replaced."""
    if asked.headers.get("If-Match", f'"{found["rev"]}"') != f'"{found["rev"]}"':
        return problem(409, "conflict", f"{found['name']} was changed meanwhile", "look at it again")
    fresh, edited = job(found["id"], found["name"]), dict(found)
    for field, value in asked.body.items():
        if field in ("env", "retry") and value is not None:
            merged = {name: fresh[field].get(name) if part is None else part for name, part in value.items()}
            value = {name: part for name, part in (found[field] | merged).items() if part is not None}
        if field == "schedule" and value is not None:
            zone = (found["schedule"] or {}).get("timezone", "Europe/Berlin")
            value = {"timezone": zone, "words": "in words", **value}
        if field == "timezone" and asked.body.get("schedule", {}) is None:
            continue
        if field == "timezone":
            field, value = "schedule", {**found["schedule"], "timezone": value or "Etc/UTC"}
        edited[field] = None if field == "schedule" and value is None else fresh[field] if value is None else value
    edited = {name: _as_answered(name, value) for name, value in edited.items() if name in fresh}
    if asked.query.get("dry_run") == "1":
        changes = [
            {"field": field, "before": found[field], "after": edited[field]}
            for field in edited
            if edited[field] != found[field]
        ]
        later = {**PREVIEW, "items": PREVIEW["items"][1:]} if "schedule" in asked.body else PREVIEW
        return Answer(
            200, {"job": edited, "before": PREVIEW, "preview": later, "changes": changes, "warnings": ["think"]}
        )
    found |= {**edited, "rev": found["rev"] + 1}
    return Answer(200, found)


def _as_answered(name: str, value: Any) -> Any:
    """Durations that were texts are answered as seconds."""
    if isinstance(value, dict) and name in ("schedule", "retry"):
        return {part: _as_answered(part, inner) for part, inner in value.items()}
    timed = ("timeout", "grace", "misfire_within", "late_after", "every", "jitter", "backoff", "backoff_max")
    if name not in timed or not isinstance(value, str):
        return value
    return int(value[:-1]) * {"s": 1, "m": 60, "h": 3600}[value[-1]]


def _delete(fake: FakeDaemon, asked: Asked, found: Json) -> Answer:
    fake.jobs.remove(found)
    return Answer(204)


def _pause(fake: FakeDaemon, asked: Asked, found: Json) -> Answer:
    _paused(found, asked)
    words = "the job was paused by ana" + (f": {found['paused_why']}" if found["paused_why"] else "")
    held = {"by": "job", "since": found["paused_since"], "until": found["paused_until"], "why": words}
    return Answer(200, found | {"state": "paused"} | {f"suspended_{name}": value for name, value in held.items()})


def _paused(found: Json, asked: Asked) -> Json:
    body = asked.body or {}
    found |= {"paused": True, "paused_by": "ana", "paused_since": "2026-11-29T02:00:00Z"}
    found |= {f"paused_{name}": body[name] for name in ("until", "why") if name in body}
    return found


def _resume(fake: FakeDaemon, asked: Asked, found: Json) -> Answer:
    found |= {
        "paused": False,
        "state": "ok",
        "paused_by": None,
        "paused_since": None,
        "paused_until": None,
        "paused_why": None,
        "suspended_by": None,
        "suspended_since": None,
        "suspended_until": None,
        "suspended_why": None,
        "quarantined": False,
    }
    return Answer(200, found)


def _skip(fake: FakeDaemon, asked: Asked, found: Json) -> Answer:
    return Answer(200, found | {"next_run_at": "2026-12-01T02:00:00Z"})


def _queue(fake: FakeDaemon, name: str) -> Json:
    found = next((item for item in fake.queues if item["name"] == unquote(name)), None)
    if found is None:
        found = queue(unquote(name), jobs=0)
        fake.queues.append(found)
    return found


def _set_queue(fake: FakeDaemon, asked: Asked, match: "re.Match[str]") -> Answer:
    found = _queue(fake, match[1])
    found |= asked.body
    return Answer(200, found)


def _pause_queue(fake: FakeDaemon, asked: Asked, match: "re.Match[str]") -> Answer:
    return Answer(200, _paused(_queue(fake, match[1]), asked))


def _resume_queue(fake: FakeDaemon, asked: Asked, match: "re.Match[str]") -> Answer:
    found = _queue(fake, match[1])
    if not found["paused"]:
        return problem(409, "conflict", f"queue {found['name']} is not paused", "see jobctl queue ls")
    found |= queue(found["name"], jobs=found["jobs"])
    return Answer(200, found)


def _pause_daemon(fake: FakeDaemon, asked: Asked) -> Answer:
    fake.status["paused"] = _paused(queue(""), asked)
    return Answer(200, fake.status["paused"])


def _resume_daemon(fake: FakeDaemon, asked: Asked) -> Answer:
    fake.status["paused"] = None
    return Answer(200, queue(""))


def _matching_dead(fake: FakeDaemon, wanted: Mapping[str, Any]) -> list[Json]:
    found = [item for item in fake.runs if item["state"] == "dead"]
    if wanted.get("ids") is not None:
        found = [item for item in found if item["id"] in wanted["ids"]]
    if wanted.get("job") is not None:
        found = [item for item in found if str(wanted["job"]) in (str(item["job_id"]), item["job"])]
    for name in ("class", "fingerprint"):
        found = [item for item in found if wanted.get(name) in (None, item[name])]
    return [item for item in found if _named(item, wanted)]


def _named(item: Json, wanted: Mapping[str, Any]) -> bool:
    """Whether the name of its job has the words of a filter."""
    return all(word in item["job"] for word in parse(wanted.get("q", "")).words("word"))


def _groups(fake: FakeDaemon, asked: Asked) -> Answer:
    runs: dict[str, list[Json]] = {}
    for item in _matching_dead(fake, asked.query):
        runs.setdefault(item["fingerprint"], []).append(item)
    groups = [
        {"fingerprint": fingerprint, "count": len(alike), "jobs": sorted({item["job"] for item in alike}),
         "class": alike[0]["class"], "reason": alike[0]["reason"], "error": alike[0]["error"],
         "first_at": min(item["finished_at"] for item in alike), "last_at": max(item["finished_at"] for item in alike),
         "replays": sum(item["replays"] for item in alike), "newest_run_id": max(item["id"] for item in alike)}
        for fingerprint, alike in runs.items()
    ]  # fmt: skip
    return _page(groups, asked)


def _replay(fake: FakeDaemon, asked: Asked) -> Answer:
    key = asked.headers.get("Idempotency-Key")
    if key is not None and key in fake.keys:
        return Answer(200, fake.keys[key])
    found = sorted(_matching_dead(fake, asked.body), key=lambda item: int(item["id"]))[: asked.body.get("limit", 1000)]
    ids = [item["id"] for item in found]
    skipped = [
        {"id": ident, "reason": "it is no dead letter"} for ident in asked.body.get("ids", ()) if ident not in ids
    ]
    for item in found:
        item |= {"state": "ready", "replays": item["replays"] + 1, "finished_at": None, "class": None, "outcome": None}
    answer = {"batch": len(fake.keys) + 1, "replayed": ids, "skipped": skipped}
    if key is not None:
        fake.keys[key] = answer
    return Answer(200, answer)


def _discard(fake: FakeDaemon, asked: Asked) -> Answer:
    found = _matching_dead(fake, asked.body)
    for item in found:
        item["state"] = "discarded"
    return Answer(200, {"discarded": [item["id"] for item in found]})


def _retry(fake: FakeDaemon, asked: Asked, found: Json) -> Answer:
    if found["state"] == "running":
        return problem(409, "conflict", f"run {found['id']} is running", "wait for it, or cancel it")
    if found["state"] in ("ready", "dead"):
        how = "now" if found["state"] == "ready" else "replayed"
        found["state"] = "ready"
        return Answer(200, {"how": how, "run": found})
    made = run(len(fake.runs) + 101, {"uid": "0", "id": found["job_id"], "name": found["job"]}, retry_of=found["id"])
    fake.runs.insert(0, made)
    return Answer(201, {"how": "again", "run": made})


def _trigger(fake: FakeDaemon, asked: Asked, found: Json) -> Answer:
    made = run(len(fake.runs) + 101, found, trigger="manual")
    fake.runs.insert(0, made)
    fake.logs[made["id"]] = b"hello\n"
    return Answer(201, made)


def _adhoc(fake: FakeDaemon, asked: Asked, match: "re.Match[str]") -> Answer:
    return _trigger(fake, asked, job(900, asked.body.get("name") or "adhoc"))


def _of_job(fake: FakeDaemon, asked: Asked, found: Json) -> Answer:
    return _page([item for item in fake.runs if item["job_id"] == found["id"] and _in_state(item, asked)], asked)


def _log(fake: FakeDaemon, asked: Asked, found: Json) -> Answer:
    data = fake.logs.get(found["id"], b"")
    offset = int(asked.query.get("offset", 0))
    begin = max(0, len(data) + offset) if offset < 0 else min(offset, len(data))
    headers = {"Jobctl-Log-Offset": str(begin), "Jobctl-Log-Size": str(len(data)), "Jobctl-Log-Attempt": "1",
               "Jobctl-Log-Complete": "1", "Content-Type": "application/octet-stream"}  # fmt: skip
    if asked.query.get("follow") == "1":
        headers["Transfer-Encoding"] = "chunked"
    return Answer(200, data[begin:], headers)


def _work(fake: FakeDaemon, asked: Asked, found: Json) -> Answer:
    recorded = work(fake.find_job(str(found["job_id"])) or job(found["job_id"], found["job"]))
    return Answer(200, fake.works.get(found["id"], {**recorded, "version": found["version"]}))


def _cancel(fake: FakeDaemon, asked: Asked, found: Json) -> Answer:
    if found["state"] not in ("scheduled", "ready", "running"):
        return problem(409, "conflict", f"run {found['id']} is over", "nothing is left to stop")
    found |= {"state": "cancelled", "outcome": "cancelled", "finished_at": "2026-11-29T02:12:00Z"}
    return Answer(202, found)


def _events(fake: FakeDaemon, asked: Asked, match: "re.Match[str]") -> Answer:
    after = int(asked.query.get("after", 0))
    lines = [
        f"id: {event['id']}\nevent: {event['kind']}\ndata: {json.dumps(event)}\n\n"
        for event in fake.events
        if event["id"] > after
    ]
    return Answer(200, (": hello\n\n" + "".join(lines)).encode(), {"Content-Type": "text/event-stream"})


def _called(fake: FakeDaemon, asked: Asked) -> list[Json]:
    found = [item for item in fake.runs if _named(item, asked.query)]
    return [item for item in found if _in_state(item, asked)]


def _in_state(item: Json, asked: Asked) -> bool:
    return "state" not in asked.query or item["state"] in asked.query["state"].split(",")


def _rename_owner(fake: FakeDaemon, asked: Asked, match: "re.Match[str]") -> Answer:
    return Answer(200, owner(str(asked.body["to"])))


def _plain(make: Callable[[FakeDaemon, Asked], Answer]) -> Callable[..., Answer]:
    return lambda fake, asked, match: make(fake, asked)


_ROUTES: list[tuple[str, "re.Pattern[str]", Callable[..., Answer]]] = [
    (method, re.compile(path), handler)
    for method, path, handler in (
        ("GET", "/v1/jobs", _jobs),
        ("GET", "/v1/jobs/window", _jobs_window),
        ("GET", "/v1/runs/window", _runs_window),
        ("GET", "/v1/upcoming", _upcoming),
        ("GET", "/v1/jobs/([^/]+)/durations", _one_job(_durations)),
        ("GET", "/v1/runs/([^/]+)/log/times", _one_run(_log_times)),
        ("GET", "/v1/daemon/log", _plain(lambda fake, asked: _page(fake.said[-int(asked.query["lines"]) :], asked))),
        ("POST", "/v1/jobs", _add),
        ("GET", "/v1/jobs/([^/]+)", _one_job(lambda fake, asked, found: Answer(200, found))),
        ("PATCH", "/v1/jobs/([^/]+)", _one_job(_edit)),
        ("DELETE", "/v1/jobs/([^/]+)", _one_job(_delete)),
        ("POST", "/v1/jobs/([^/]+)/pause", _one_job(_pause)),
        ("POST", "/v1/jobs/([^/]+)/resume", _one_job(_resume)),
        ("POST", "/v1/jobs/([^/]+)/skip", _one_job(_skip)),
        ("POST", "/v1/jobs/([^/]+)/runs", _one_job(_trigger)),
        ("GET", "/v1/jobs/([^/]+)/runs", _one_job(_of_job)),
        ("GET", "/v1/jobs/([^/]+)/ledger", _one_job(lambda fake, asked, found: _page(fake.ledger, asked))),
        ("GET", "/v1/jobs/([^/]+)/next", _one_job(lambda fake, asked, found: Answer(200, PREVIEW))),
        ("POST", "/v1/runs", _adhoc),
        ("GET", "/v1/runs", _plain(lambda fake, asked: _page(_called(fake, asked), asked))),
        ("GET", "/v1/runs/([^/]+)", _one_run(lambda fake, asked, found: Answer(200, found))),
        ("GET", "/v1/runs/([^/]+)/work", _one_run(_work)),
        ("GET", "/v1/runs/([^/]+)/attempts", _one_run(lambda fake, asked, found: _page([attempt(found)], asked))),
        ("POST", "/v1/runs/([^/]+)/cancel", _one_run(_cancel)),
        ("POST", "/v1/runs/([^/]+)/kill", _one_run(_cancel)),
        ("POST", "/v1/runs/([^/]+)/retry", _one_run(_retry)),
        ("GET", "/v1/dead", _plain(lambda fake, asked: _page(_matching_dead(fake, asked.query), asked))),
        ("GET", "/v1/dead/groups", _plain(_groups)),
        ("POST", "/v1/dead/replay", _plain(_replay)),
        ("POST", "/v1/dead/discard", _plain(_discard)),
        ("GET", "/v1/queues", _plain(lambda fake, asked: _page(fake.queues, asked))),
        ("PUT", "/v1/queues/([^/]+)", _set_queue),
        ("POST", "/v1/queues/([^/]+)/pause", _pause_queue),
        ("POST", "/v1/queues/([^/]+)/resume", _resume_queue),
        ("GET", "/v1/owners", _plain(lambda fake, asked: _page([owner("ada")], asked))),
        ("POST", "/v1/owners/([^/]+)/rename", _rename_owner),
        ("POST", "/v1/daemon/pause", _plain(_pause_daemon)),
        ("POST", "/v1/daemon/resume", _plain(_resume_daemon)),
        ("GET", "/v1/runs/([^/]+)/log", _one_run(_log)),
        ("GET", "/v1/events", _events),
        ("GET", "/v1/status", _plain(lambda fake, asked: Answer(200, fake.status))),
        ("GET", "/v1/health/ready", _plain(lambda fake, asked: Answer(200, {"status": "ok"}))),
        ("POST", "/v1/daemon/stop", _plain(lambda fake, asked: Answer(202, {"state": "stopping"}))),
    )
]
