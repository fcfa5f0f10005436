"""Every route: the method, the path and the query that are sent."""

from collections.abc import Callable

import pytest

from jobctl.client.sync import Client
from jobctl.client.transport import UnixTransport
from unit.client.fake_daemon import Answer, FakeDaemon, job, run

CALLS: list[tuple[str, Callable[[Client], object], str, dict[str, str]]] = [
    ("POST /v1/jobs", lambda c: c.preview_job({"target": {"command": ["x"]}}), "/v1/jobs", {"dry_run": "1"}),
    ("GET /v1/jobs", lambda c: list(c.jobs(state="ok", limit=5)), "/v1/jobs", {"state": "ok", "limit": "5"}),
    ("GET job", lambda c: c.job("a b"), "/v1/jobs/a%20b", {}),
    ("DELETE", lambda c: c.delete_job("a b", cancel_runs=True), "/v1/jobs/a%20b", {"runs": "cancel"}),
    ("ledger", lambda c: list(c.ledger(1, "A", "B")), "/v1/jobs/1/ledger", {"from": "A", "to": "B", "limit": "1000"}),
    ("next", lambda c: c.job_next(1, 3, "A", None), "/v1/jobs/1/next", {"n": "3", "from": "A"}),
    ("job runs", lambda c: list(c.job_runs(1, limit=2, before="T")), "/v1/jobs/1/runs", {"limit": "2", "before": "T"}),
    ("runs", lambda c: list(c.runs(limit=2, owner="ana")), "/v1/runs", {"limit": "2", "owner": "ana"}),
    ("wait", lambda c: c.run(101, 5), "/v1/runs/101", {"wait": "5"}),
    ("work", lambda c: c.work(101), "/v1/runs/101/work", {}),
    ("attempts", lambda c: c.attempts(101), "/v1/runs/101/attempts", {"limit": "1000"}),
    ("kill", lambda c: c.kill_run(101), "/v1/runs/101/kill", {}),
    ("cancel", lambda c: c.cancel_run(101, 2.5), "/v1/runs/101/cancel", {"grace": "2.5"}),
    ("log", lambda c: c.log(101, attempt=2, offset=-5).read(), "/v1/runs/101/log", {"attempt": "2", "offset": "-5"}),
    ("events", lambda c: list(c.events(after=3, kind="k")), "/v1/events", {"after": "3", "kind": "k", "follow": "0"}),
    ("ready", lambda c: c.ready(), "/v1/health/ready", {}),
    ("stop", lambda c: c.stop_daemon(), "/v1/daemon/stop", {}),
    (
        "dead",
        lambda c: list(c.dead(job=1, limit=2, **{"class": "oom"})),
        "/v1/dead",
        {"job": "1", "class": "oom", "limit": "2"},
    ),
    ("groups", lambda c: c.dead_groups(since="T"), "/v1/dead/groups", {"since": "T", "limit": "1000"}),
    ("queues", lambda c: c.queues(), "/v1/queues", {}),
    ("queue resume", lambda c: c.pause_queue("a b") and c.resume_queue("a b"), "/v1/queues/a%20b/resume", {}),
    ("daemon resume", lambda c: c.resume_daemon(), "/v1/daemon/resume", {}),
]


@pytest.fixture
def client(daemon: FakeDaemon) -> Client:
    daemon.jobs = [job(1, "a b")]
    daemon.runs = [run(101, daemon.jobs[0], state="running", finished_at=None)]
    return Client(UnixTransport(daemon.path))


@pytest.mark.parametrize(("call", "path", "query"), [row[1:] for row in CALLS], ids=[row[0] for row in CALLS])
def test_a_route(
    daemon: FakeDaemon, client: Client, call: Callable[[Client], object], path: str, query: dict[str, str]
) -> None:
    call(client)
    assert (daemon.asked[-1].path, daemon.asked[-1].query) == (path, query)


def test_the_rest_of_the_writing_routes(daemon: FakeDaemon, client: Client) -> None:
    client.create_job({"target": {"command": ["x"]}}, "k1")
    assert daemon.asked[-1].headers["Idempotency-Key"] == "k1"
    client.pause_job(1, why="w")
    assert daemon.asked[-1].body == {"why": "w"}
    assert client.resume_job(1)["paused"] is False
    client.resume_job(1, catch_up=True)
    assert daemon.asked[-1].body == {"catch_up": True}
    client.skip_next(1, 3)
    assert (daemon.asked[-1].path, daemon.asked[-1].body) == ("/v1/jobs/1/skip", {"count": 3})
    assert client.set_queue("mail", 2)["concurrency"] == 2
    assert (daemon.asked[-1].method, daemon.asked[-1].path) == ("PUT", "/v1/queues/mail")
    client.pause_daemon(until="T", why="w")
    assert daemon.asked[-1].body == {"until": "T", "why": "w"}
    daemon.runs.append(run(7, daemon.jobs[0], state="dead", fingerprint="f"))
    assert client.replay({"ids": [7]}, "k3")["replayed"] == [7]
    assert daemon.asked[-1].headers["Idempotency-Key"] == "k3"
    assert client.discard({"ids": [7]}) == []
    assert client.retry_run(7, "k4")["how"] == "now"
    client.trigger(1, {}, "k2")
    assert daemon.asked[-1].headers["Idempotency-Key"] == "k2"
    assert client.create_run({"target": {"command": ["x"]}})["trigger"] == "manual"
    daemon.override("POST", "/v1/jobs/import", Answer(201, {"schema": 1, "items": daemon.jobs, "next": None}))
    assert client.import_jobs([{"target": {"command": ["x"]}}])
    daemon.override("POST", "/v1/schedule/preview", Answer(200, {"items": []}))
    assert client.preview({"schedule": {}}) == {"items": []}


def test_lists_are_read_to_their_end(daemon: FakeDaemon, client: Client) -> None:
    daemon.jobs = [job(number, f"job{number:05d}") for number in range(2_500)]
    assert len(list(client.jobs())) == 2_500
    assert len(list(client.jobs(limit=1_200))) == 1_200
    assert [len(list(client.jobs(limit=limit))) for limit in (0, 1)] == [0, 1]


def test_an_edit_names_the_revision_it_is_of(daemon: FakeDaemon, client: Client) -> None:
    daemon.jobs = [job(1, "backup")]
    client.edit_job("backup", {"grace": "5s"}, 1)
    client.preview_edit("backup", {"grace": "5s"}, 2)
    client.edit_job("backup", {"grace": "5s"})
    sent = [(asked.method, asked.headers.get("If-Match"), asked.query) for asked in daemon.asked]
    assert sent == [("PATCH", '"1"', {}), ("PATCH", '"2"', {"dry_run": "1"}), ("PATCH", None, {})]


def test_a_job_that_is_called_as_a_part_of_a_route_is_asked_for_by_other_bytes(
    daemon: FakeDaemon, client: Client
) -> None:
    daemon.jobs += [job(2, "window"), job(3, "import")]
    for name in ("window", "import"):
        assert client.job(name)["name"] == name
        assert daemon.asked[-1].path == f"/v1/jobs/%{ord(name[0]):02X}{name[1:]}"
    daemon.override("GET", "/v1/(jobs|runs)/window", Answer(200, b'{"items": []}'))
    client.jobs_window(5, 10, sort="next", q="state:failed", around=None)
    query = {"offset": "5", "limit": "10", "sort": "next", "q": "state:failed"}
    assert (daemon.asked[-1].path, daemon.asked[-1].query) == ("/v1/jobs/window", query)
    client.runs_window(around=7)
    query = {"offset": "0", "limit": "100", "around": "7"}
    assert (daemon.asked[-1].path, daemon.asked[-1].query) == ("/v1/runs/window", query)
