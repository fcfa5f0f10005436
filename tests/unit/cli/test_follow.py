"""Following over a daemon that goes away and comes back: nothing lost, nothing doubled."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobctl.cli import follow, following, patience
from jobctl.cli.tail import tail_offset
from jobctl.client.log_position import Position
from jobctl.client.sync import Client
from jobctl.client.transport import UnixTransport
from unit.cli.conftest import Cli
from unit.client.fake_daemon import Answer, Asked, FakeDaemon, dead, problem, run

LOG = b"".join(b"line %d\n" % number for number in range(200))


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patience, "_FIRST_S", 0.001)
    monkeypatch.setattr(patience, "_LONGEST_S", 0.002)


class Breaking:
    """A log that is sent in parts: each connection breaks after some bytes, and every third is refused."""

    def __init__(self, daemon: FakeDaemon, step: int) -> None:
        self.daemon = daemon
        self.step = step
        self.connections = 0

    def __call__(self, asked: Asked, match: object) -> Answer:
        self.connections += 1
        if self.connections % 3 == 0:
            return problem(503, "unavailable", "the daemon is stopping")
        offset = int(asked.query.get("offset", 0))
        part = LOG[offset : offset + self.step]
        last = offset + len(part) >= len(LOG)
        headers = {"Transfer-Encoding": "chunked", "Jobctl-Log-Offset": str(offset), "Jobctl-Log-Attempt": "1"}
        headers["Jobctl-Log-Complete"] = str(int(last))
        return Answer(200, part, headers, cut=not last)


@pytest.mark.parametrize("step", [7, 500, 10_000])
def test_a_log_comes_whole_over_many_breaks(cli: Cli, daemon: FakeDaemon, step: int) -> None:
    daemon.override("GET", "/v1/runs/103/log", Breaking(daemon, step))
    result = cli("log", "103", "-f")
    assert (result.code, result.raw) == (0, LOG)


def test_what_was_written_while_the_daemon_was_away_is_not_missed(cli: Cli, daemon: FakeDaemon) -> None:
    """It stops in an orderly way, which ends the answer as the end of the log does."""
    parts = iter([(b"before\n", "0"), (b"after\n", "1")])

    def answer(asked: Asked, match: object) -> Answer:
        part, complete = next(parts)
        offset = asked.query.get("offset", "0")
        return Answer(200, part, {"Jobctl-Log-Offset": offset, "Jobctl-Log-Complete": complete})

    daemon.override("GET", "/v1/runs/103/log", answer)
    assert cli("log", "103", "-f").raw == b"before\nafter\n"
    assert [asked.query.get("offset") for asked in daemon.asked if asked.path.endswith("/log")] == ["0", "7"]


def test_the_break_is_said_once_and_the_return_too(cli: Cli, daemon: FakeDaemon) -> None:
    daemon.override("GET", "/v1/runs/103/log", Breaking(daemon, 1_000))
    said = cli("log", "103", "-f").err.splitlines()
    assert said[:2] == [
        "the daemon went away in the middle; the command goes on, waiting for the daemon",
        "the daemon is back",
    ]


def test_run_follow_ends_as_the_command_did(cli: Cli, daemon: FakeDaemon) -> None:
    made = run(104, daemon.jobs[0], state="failed", exit_code=9, outcome="exit_code", **{"class": "exit_code"})
    daemon.runs.insert(0, made)
    daemon.logs[104] = b"out\n"
    daemon.override("POST", "/v1/jobs/backup/runs", Answer(201, made | {"state": "running", "finished_at": None}))
    result = cli("run", "backup", "-f")
    assert (result.code, result.raw) == (9, b"out\n")
    assert result.err == "run 104 of backup\nrun 104 of backup: exit 9 after 41s\n"


def test_interrupting_the_watching_leaves_the_run_alone(
    cli: Cli, daemon: FakeDaemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*args: object, **options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("jobctl.cli.run.until_over", interrupt)
    result = cli("run", "backup", "--wait")
    assert result.code == 130
    assert "run 104 goes on: jobctl log 104 -f, jobctl cancel 104" in result.err
    assert not any(asked.path.endswith(("/cancel", "/kill")) for asked in daemon.asked)


def test_followed_as_json_stdout_has_the_run_only(cli: Cli, daemon: FakeDaemon) -> None:
    result = cli("run", "backup", "--follow", "--json")
    assert result.json()["id"] == 104
    assert "hello" in result.err


def test_wait_goes_on_when_the_daemon_is_back(cli: Cli, daemon: FakeDaemon) -> None:
    answers = iter(
        [problem(503, "unavailable", "stopping"), Answer(200, b"", {"Transfer-Encoding": "chunked"}, cut=True)]
    )
    over = daemon.runs[0] | {"state": "failed", "class": "signal", "signal": 9, "finished_at": "2026-11-29T02:12:00Z"}
    daemon.override(
        "GET",
        "/v1/runs/103",
        lambda asked, match: (
            Answer(200, daemon.runs[0]) if "wait" not in asked.query else next(answers, Answer(200, over))
        ),
    )
    result = cli("wait", "103")
    assert (result.code, result.out) == (137, "run 103 of sync: SIGKILL\n")


def test_wait_for_several_ends_with_the_first_that_failed(cli: Cli) -> None:
    assert cli("wait", "102", "101").code == 1
    assert cli("wait", "102").code == 0
    assert cli("wait", "102", "-q").out == ""


def test_a_log_that_was_truncated_starts_again(cli: Cli, daemon: FakeDaemon) -> None:
    headers = {"Jobctl-Log-Offset": "0", "Jobctl-Log-Reset": "1", "Jobctl-Log-Complete": "1"}
    daemon.override("GET", "/v1/runs/101/log", Answer(200, b"anew\n", headers))
    result = cli("log", "101", "-f", "--offset", "100")
    assert result.raw == b"anew\n"
    assert "truncated" in result.err


def test_piped_the_bytes_are_as_they_were_and_on_a_terminal_they_are_not(cli: Cli, daemon: FakeDaemon) -> None:
    wild = b"\x1b[31mred\x1b[0m \xff\x1b]52;c;x\x07\r\n"
    daemon.logs[101] = wild
    assert cli("log", "101").raw == wild
    assert cli("log", "101", "--raw", terminal=True).raw == wild
    assert cli("log", "101", terminal=True).out == "red \N{REPLACEMENT CHARACTER}\n"


@pytest.mark.parametrize(
    ("tail", "expected"),
    [
        ("0", b""),
        ("1", b"line 199\n"),
        ("3", b"line 197\nline 198\nline 199\n"),
        ("10B", LOG[-10:]),
        ("1kB", LOG[-1000:]),
        ("999", LOG),
    ],
)
def test_tail(cli: Cli, daemon: FakeDaemon, tail: str, expected: bytes) -> None:
    daemon.logs[101] = LOG
    assert cli("log", "101", "--tail", tail).raw == expected


@given(st.lists(st.binary(max_size=30), max_size=20), st.integers(0, 25))
def test_tail_of_any_log(lines: list[bytes], count: int) -> None:
    data = b"\n".join(lines)

    class Log(Client):
        def log(self, ident: object, **options: object) -> Answer:  # type: ignore[override]
            offset = int(str(options["offset"]))
            begin = max(0, len(data) + offset)
            answer = Answer(200, data[begin:], {"jobctl-log-offset": str(begin), "jobctl-log-size": str(len(data))})
            return _Readable(*answer)

    class _Readable(Answer):
        def read(self) -> bytes:
            return bytes(self.body)

    begin = tail_offset(Log(UnixTransport("/none")), 1, None, count)
    parts = data.split(b"\n") if not data.endswith(b"\n") else data[:-1].split(b"\n")
    expected = b"\n".join(parts[-count:]) if count else b""
    shown = data[begin:]
    assert (shown.removesuffix(b"\n") if data.endswith(b"\n") else shown) == expected


MARKER = b"\n[jobctl: 60 bytes, from 20 to 80, were removed by the log limit]\n"


@given(st.integers(-100, 100), st.lists(st.integers(0, 200), max_size=5))
def test_offsets_survive_a_removed_middle(asked: int, cuts: list[int]) -> None:
    """Bytes 20 to 80 of 100 were removed; wherever reading begins and breaks off, the next offset is right."""
    begin = asked if asked >= 0 else max(0, 100 + asked)
    head = max(0, 20 - begin)
    marker = MARKER if begin < 80 else b""
    body = b"h" * head + marker + b"t" * (100 - max(80, begin))
    headers = {"jobctl-log-size": "100", "jobctl-log-dropped": "20-80", "jobctl-log-marker": str(len(MARKER))}
    position = Position(headers, asked)
    at = 0
    for cut in [*sorted(min(cut, len(body)) for cut in cuts), len(body)]:
        position.passed(body[at:cut])
        at = cut
        if at <= head:
            assert position.offset == begin + at
        elif at >= head + len(marker):
            assert position.offset == 100 - (len(body) - at)
    assert position.offset == max(100, begin)


def test_events(cli: Cli, daemon: FakeDaemon) -> None:
    daemon.events = [
        {
            "id": n,
            "at": "2026-11-29T02:00:00Z",
            "kind": "run.ready",
            "job_id": 1,
            "run_id": n,
            "data": {"name": "a\x1bb", "due_ms": 1_795_918_361_000, "took_ms": 12, "reason": None},
        }
        for n in (1, 2, 3)
    ]
    result = cli("events", "--after", "1")
    assert [line.split()[0] for line in result.out.splitlines()] == ["2", "3"]
    assert result.out.splitlines()[0].endswith("name=a\\x1bb due=03:12:41 CET took_ms=12")
    assert [item["id"] for item in cli("events", "--json").json()["items"]] == [1, 2, 3]


def test_events_resume_behind_the_last(cli: Cli, daemon: FakeDaemon) -> None:
    event = {"at": "2026-11-29T02:00:00Z", "kind": "k", "job_id": None, "run_id": None, "data": {}}
    asked_after: list[str | None] = []

    def stream(asked: Asked, match: object) -> Answer:
        asked_after.append(asked.query.get("after"))
        if len(asked_after) == 3:
            return problem(403, "forbidden", "enough of this test")
        data = f'id: {len(asked_after)}\ndata: {{"id": {len(asked_after)}, {str(event)[1:-1]}}}\n\n'
        return Answer(
            200, data.replace("'", '"').replace("None", "null").encode(), {"Transfer-Encoding": "chunked"}, cut=True
        )

    daemon.override("GET", "/v1/events", stream)
    daemon.status["last_event"] = 0
    result = cli("events", "-f", "--json")
    assert asked_after == ["0", "1", "2"]
    assert result.code == 6
    assert len(result.out.splitlines()) == 2


class Ticking:
    """A job whose next run comes at the third look, twice; then it has no next one."""

    def __init__(self, daemon: FakeDaemon) -> None:
        self.daemon = daemon
        self.looks = 0

    def __call__(self, asked: Asked, match: object) -> Answer:
        job = self.daemon.jobs[0]
        self.looks += 1
        if self.looks % 3 == 0:
            if self.looks == 9:
                job["next_run_at"] = None
            else:
                number = 200 + self.looks
                self.daemon.runs.insert(0, run(number, job))
                self.daemon.logs[number] = b"run %d" % number
        return Answer(200, job)


def test_a_job_is_followed_from_run_to_run(cli: Cli, daemon: FakeDaemon, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(following, "_POLL_S", 0)
    daemon.override("GET", "/v1/jobs/(backup|1)", Ticking(daemon))
    result = cli("log", "backup", "-f")
    assert result.code == 0
    assert result.raw == b"one\ntwo\nthree\nrun 203run 206"
    waiting = "waiting for the next run, Mon 03:00 CET, in 23h47m (ctrl-c to stop)"
    assert result.err.splitlines() == [
        "run 101 of backup: exit 1 after 41s", waiting, "", "run 203 of backup: ok after 41s", waiting, "",
        "run 206 of backup: ok after 41s", waiting, "backup has no next run",
    ]  # fmt: skip


def test_a_job_is_followed_from_the_run_that_is_under_way(
    cli: Cli, daemon: FakeDaemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was skipped before is old; what was skipped meanwhile is one line."""
    monkeypatch.setattr(following, "_POLL_S", 0)
    sync = daemon.jobs[1]
    skipped = {"state": "skipped", "attempt": 0, "outcome": "overlap", "started_at": None, "exit_code": None}
    daemon.runs[:0] = [run(number, sync, **skipped) for number in (105, 104)]
    looks = iter(range(10))

    def look(asked: Asked, match: object) -> Answer:
        if next(looks) == 1:
            daemon.runs[:0] = [run(number, sync, **skipped) for number in (108, 107, 106)]
            daemon.runs[:0] = [run(109, sync)]
            daemon.logs[109] = b"after\n"
            sync["next_run_at"] = None
        return Answer(200, sync)

    def ended(asked: Asked, match: object) -> Answer:
        return Answer(200, run(103, sync))

    daemon.override("GET", "/v1/jobs/(sync|2)", look)
    daemon.override("GET", "/v1/runs/103", ended)
    result = cli("log", "sync", "-f")
    assert result.out == "so far\nafter\n"
    assert result.err.splitlines() == [
        "run 103 of sync: ok after 41s", "3 runs of sync: skipped: overlap", "run 109 of sync: ok after 41s",
        "sync has no next run",
    ]  # fmt: skip


def test_a_run_and_a_job_without_a_next_one_end(cli: Cli, daemon: FakeDaemon) -> None:
    daemon.jobs[0]["next_run_at"] = None
    for which in ("101", "backup"):
        assert cli("log", which, "-f").raw == b"one\ntwo\nthree\n"


def test_words_begin_on_a_line_of_their_own(cli: Cli, daemon: FakeDaemon) -> None:
    made = run(104, daemon.jobs[0])
    daemon.runs.insert(0, made)
    daemon.logs[104] = b"no newline"
    daemon.override("POST", "/v1/jobs/backup/runs", Answer(201, made))
    result = cli("run", "backup", "-f")
    assert result.raw == b"no newline"
    assert result.err == "run 104 of backup\n\nrun 104 of backup: ok after 41s\n"


class Retrying:
    """A run whose first two attempts fail; each look brings it one step further."""

    def __init__(self, daemon: FakeDaemon) -> None:
        plain = run(104, daemon.jobs[0], finished_at=None, max_attempts=3, fence=1)
        waits = {"state": "ready", "class": "exit_code", "outcome": "exit_code", "reason": "exit 1", "exit_code": None,
                 "started_at": None, "due_at": "2026-11-29T02:12:43Z"}  # fmt: skip
        self.steps = [
            plain | {"state": "running", "attempt": 1},
            plain | waits | {"attempt": 1},
            plain | {"state": "running", "attempt": 2},
            plain | waits | {"attempt": 2},
            plain | {"state": "succeeded", "attempt": 3, "finished_at": "2026-11-29T02:12:50Z"},
        ]
        self.shown: list[str | None] = []
        daemon.runs.insert(0, self.steps[0])
        daemon.override("GET", "/v1/runs/104", self)
        daemon.override("GET", "/v1/runs/104/log", self.log)

    def __call__(self, asked: Asked, match: object) -> Answer:
        return Answer(200, self.steps[0] if len(self.steps) == 1 else self.steps.pop(0))

    def log(self, asked: Asked, match: object) -> Answer:
        number = asked.query.get("attempt", "1")
        self.shown.append(number)
        headers = {"Jobctl-Log-Complete": "1", "Jobctl-Log-Attempt": number, "Jobctl-Log-Size": "10"}
        return Answer(200, f"attempt {number}\n".encode(), headers)


def test_a_run_is_followed_from_attempt_to_attempt(
    cli: Cli, daemon: FakeDaemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(follow, "_POLL_S", 0)
    retrying = Retrying(daemon)
    result = cli("log", "104", "-f")
    assert result.out == "attempt 1\nattempt 2\nattempt 3\n"
    assert retrying.shown == ["1", "2", "3"]
    assert "attempt 2\n" in result.err


def test_one_attempt_alone(cli: Cli, daemon: FakeDaemon) -> None:
    Retrying(daemon)
    assert cli("log", "104", "-f", "--attempt", "1").out == "attempt 1\n"
    assert cli("log", "104", "--attempt", "2").out == "attempt 2\n"


def test_waiting_for_a_retry_is_said(cli: Cli, daemon: FakeDaemon, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(follow, "_POLL_S", 0)
    retrying = Retrying(daemon)
    retrying.steps[1:2] = [retrying.steps[1]] * 20
    said = "run 104 of backup failed: exit 1; retry 1 of 2 is due in 2s, 03:12:43 CET\n"
    assert said in cli("log", "104", "-f").err


@pytest.mark.parametrize("argv", [("wait", "104"), ("run", "backup", "--wait"), ("dlq", "replay", "104", "--wait")])
def test_what_waits_for_the_end_says_of_each_retry_when_it_is_due(
    cli: Cli, daemon: FakeDaemon, argv: tuple[str, ...]
) -> None:
    retrying = Retrying(daemon)
    retrying.steps[1:2] = [retrying.steps[1]] * 3
    retrying.steps[-2:-1] = [retrying.steps[-2]] * 3
    daemon.override("POST", "/v1/jobs/backup/runs", Answer(201, retrying.steps[0]))
    answer = {"schema": 1, "batch": 1, "replayed": [104], "skipped": []}
    daemon.override("POST", "/v1/dead/replay", Answer(200, answer))
    result = cli(*argv)
    for number in (1, 2):
        said = f"run 104 of backup failed: exit 1; retry {number} of 2 is due in 2s, 03:12:43 CET\n"
        assert result.err.count(said) == 1
    assert result.code == 0


@pytest.mark.parametrize("argv", [("wait", "104", "-q"), ("run", "backup", "--wait", "--json")])
def test_who_wants_no_words_hears_of_no_retry(cli: Cli, daemon: FakeDaemon, argv: tuple[str, ...]) -> None:
    retrying = Retrying(daemon)
    daemon.override("POST", "/v1/jobs/backup/runs", Answer(201, retrying.steps[0]))
    assert "retry" not in cli(*argv).err


def test_a_dead_letter_is_over(cli: Cli, daemon: FakeDaemon) -> None:
    daemon.runs.append(dead(90, daemon.jobs[0], exit_code=7))
    result = cli("wait", "90")
    assert (result.code, result.out) == (7, "run 90 of backup: dead: exit 7\n")
    assert result.err == "see: jobctl dlq show 90\n"
    daemon.runs.append(dead(91, daemon.jobs[0]))
    assert cli("wait", "90", "91").err == "see: jobctl dlq ls --runs\n"
    assert cli("wait", "90", "--quiet").err == cli("wait", "90", "--json").err == ""


def test_the_log_of_a_run_that_waits_for_its_retry(cli: Cli, daemon: FakeDaemon) -> None:
    waits = {"state": "ready", "class": "exit_code", "outcome": "exit_code", "started_at": None, "finished_at": None}
    daemon.runs.insert(0, run(104, daemon.jobs[0], **waits))
    daemon.logs[104] = b"so far\n"
    assert cli("log", "104").out == "so far\n"
