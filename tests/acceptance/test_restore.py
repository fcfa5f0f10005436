"""`jobctl restore` over real processes: nothing is mixed, nothing past runs again, nothing is given out twice."""

import contextlib
import gzip
import hashlib
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from jobctl.errors import Conflict
from jobctl_daemon.store.sqlite import SqliteStore
from jobctl_daemon.store.sqlite.migrate import shipped
from kit.daemon import CLI, RealDaemon, real_daemon
from kit.invariants import invariants
from kit.tables import everything

pytestmark = pytest.mark.long

SCHEMAS = Path(__file__).parents[1] / "data" / "schemas"
EVERY = {"schedule": {"timezone": "UTC", "every": "1s"}}
#: What a restore writes to: everything else is as it was in the copy.
WRITTEN = {"cursors", "occurrences", "events", "meta", "runs", "history", "attempts", "last_runs", "jobs", "streaks"}


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[RealDaemon]:
    with real_daemon(tmp_path / "h") as started:
        yield started


def database(daemon: RealDaemon) -> Path:
    return daemon.home / "state" / "jobctl.db"


@contextlib.contextmanager
def opened(path: Path) -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    try:
        yield connection
    finally:
        connection.close()


def contents(folder: Path) -> dict[str, str]:
    found = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in found}


def databases(daemon: RealDaemon) -> dict[str, str]:
    return {name: found for name, found in contents(daemon.home / "state").items() if "jobctl" in name}


def backed_up(daemon: RealDaemon, path: Path) -> Path:
    done = daemon.jobctl("backup", str(path), "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
    return path


def restored(daemon: RealDaemon, path: Path, *options: str) -> dict[str, object]:
    done = daemon.jobctl("restore", str(path), "--json", *options)
    assert done.returncode == 0, done.stderr
    with opened(database(daemon)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        invariants(connection)
    found: dict[str, object] = json.loads(done.stdout)
    return found


@pytest.mark.case("F099", "F092")
def test_it_is_refused_while_the_daemon_lives_and_says_who_that_is(daemon: RealDaemon, tmp_path: Path) -> None:
    copy = backed_up(daemon, tmp_path / "copy.db")
    assert daemon.process is not None
    before = databases(daemon)
    for number in (None, signal.SIGSTOP):
        if number is not None:
            daemon.process.send_signal(number)
        try:
            done = daemon.jobctl("restore", str(copy))
        finally:
            daemon.process.send_signal(signal.SIGCONT)
        assert done.returncode == 5, done
        assert f"pid {daemon.process.pid}" in done.stderr
        assert "jobctl daemon stop" in done.stderr
    assert databases(daemon) == before


@pytest.mark.case("F099")
def test_after_a_kill_the_copy_takes_the_place_and_no_log_of_the_old_one_is_replayed(
    daemon: RealDaemon, tmp_path: Path
) -> None:
    daemon.add("kept", "true")
    daemon.finished(daemon.triggered("kept"))
    copy = backed_up(daemon, tmp_path / "copy.db")
    with opened(copy) as connection:
        before = everything(connection)
    for number in range(40):
        daemon.add(f"later{number}", "true", note="x" * 3000)
    after = daemon.finished(daemon.triggered("later3"))
    daemon.kill9()
    sidecars = {name: found for name, found in databases(daemon).items() if name != "jobctl.db"}
    assert "jobctl.db-wal" in sidecars
    found = restored(daemon, copy)
    with opened(database(daemon)) as connection:
        now = everything(connection)
    assert {name: rows for name, rows in now.items() if name not in WRITTEN} == {
        name: rows for name, rows in before.items() if name not in WRITTEN
    }
    assert now["jobs"] == before["jobs"]
    assert now["history"] == before["history"]
    kept = Path(str(found["replaced"]))
    assert set(contents(kept)) >= {"jobctl.db", *sidecars}
    assert all(contents(kept)[name] == found for name, found in sidecars.items())
    daemon.start()
    assert [job["name"] for job in daemon.client.jobs()] == ["kept"]
    again = daemon.finished(daemon.triggered("kept"))
    assert again["id"] > after["id"], "a number was given out twice"
    assert again["fence"] > after["fence"]
    assert daemon.client.status()["last_event"] > 0


def test_it_runs_nothing_of_the_past_and_says_so_of_each_job(daemon: RealDaemon, tmp_path: Path) -> None:
    marks = tmp_path / "marks"
    daemon.add("often", f"echo $JOBCTL_RUN_KEY >> {marks}", **EVERY)
    daemon.until(lambda: daemon.runs_of("often", state="succeeded"))
    daemon.add("waits", "exit 1", retry={"max": 3, "backoff": "1s"})
    waiting = daemon.state(daemon.triggered("waits"), "ready", attempt=1)
    copy = backed_up(daemon, tmp_path / "copy.db")
    ended = daemon.finished(waiting)
    assert ended["attempt"] == 4
    daemon.stop()
    found = restored(daemon, copy)
    assert found["buried"] == 1
    assert int(str(found["occurrences_unknown"])) >= 3
    daemon.start()
    letter = daemon.client.run(waiting["id"])
    assert (letter["state"], letter["class"], letter["attempt"]) == ("dead", "lost", 1)
    assert "restored from a copy" in letter["reason"]
    rows = [row for row in daemon.ledger("often") if row["reason"] == "restored"]
    assert len(rows) == 1
    assert rows[0]["count"] == found["occurrences_unknown"]
    daemon.until(lambda: [run for run in daemon.runs_of("often") if run["scheduled_at"] > rows[0]["to"]])
    keys = marks.read_text().split()
    assert len(keys) == len(set(keys)), "an occurrence ran twice"
    said = daemon.jobctl("why", "often", "--at", rows[0]["to"]).stdout
    assert "restored" in said
    replayed = daemon.client.replay({"ids": [waiting["id"]]})
    assert replayed["replayed"] == [waiting["id"]]


def test_catching_up_is_the_misfire_policy(daemon: RealDaemon, tmp_path: Path) -> None:
    daemon.add("often", "true", **EVERY)
    daemon.until(lambda: daemon.runs_of("often", state="succeeded"))
    copy = backed_up(daemon, tmp_path / "copy.db")
    daemon.until(lambda: len(daemon.runs_of("often", state="succeeded")) > 3)
    daemon.stop()
    found = restored(daemon, copy, "--catch-up")
    assert found["catch_up"] is True
    daemon.start()
    run = daemon.until(lambda: daemon.runs_of("often", state="succeeded")[1:])[0]
    rows = [row for row in daemon.ledger("often") if row["reason"] == "restored"]
    assert [row["count"] for row in rows] == [found["occurrences_unknown"]]
    assert run["scheduled_at"] > rows[0]["to"], "the latest one is made up, and no other"


def test_commands_that_live_are_neither_killed_nor_doubled(daemon: RealDaemon, tmp_path: Path) -> None:
    gates = [tmp_path / name for name in ("known", "unknown", "stranger")]
    for gate in gates:
        os.mkfifo(gate)
    work = "echo begun; cat {}; echo over".format
    daemon.add("long", work(gates[0]))
    daemon.add("later", work(gates[1]))
    known = daemon.triggered("long")
    daemon.until_says(known, b"begun")
    copy = backed_up(daemon, tmp_path / "copy.db")
    unknown = daemon.triggered("later")
    daemon.until_says(unknown, b"begun")
    stranger = daemon.run(work(gates[2]))
    daemon.until_says(stranger, b"begun")
    daemon.kill9()
    found = restored(daemon, copy)
    attempt = f"{unknown['id']}-"
    assert [name.startswith(attempt) for name in found["taken_over"]] == [True]  # type: ignore[attr-defined]
    assert [name.split("-")[0] for name in found["left_alone"]] == [str(stranger["id"])]  # type: ignore[attr-defined]
    daemon.start()
    assert {run["id"] for run in daemon.client.runs(state="running")} == {known["id"], unknown["id"]}
    with pytest.raises(Conflict, match="still active"):
        daemon.triggered("later")
    for gate in gates:
        gate.write_bytes(b"")
    for run in (known, unknown):
        ended = daemon.finished(run)
        assert (ended["state"], ended["exit_code"], ended["attempt"]) == ("succeeded", 0, 1)
        assert daemon.output(ended) == b"begun\nover\n"


def test_what_ran_in_the_copy_and_no_runner_knows_is_lost(daemon: RealDaemon, tmp_path: Path) -> None:
    daemon.add("long", "exec sleep 1000", retry={"on_lost": "retry", "lost": 3})
    run = daemon.triggered("long")
    daemon.state(run, "running")
    copy = backed_up(daemon, tmp_path / "copy.db")
    daemon.client.kill_run(run["id"])
    daemon.finished(run)
    daemon.stop()
    assert restored(daemon, copy)["lost"] == 1
    daemon.start()
    found = daemon.client.run(run["id"])
    assert (found["state"], found["class"]) == ("dead", "lost")
    assert list(daemon.client.runs(state="ready,running,scheduled")) == []


NO_SOUND_COPY = (
    ("nothing", 3, "there is no"),
    ("empty", 2, "is no backup"),
    ("noise", 9, "cannot be read|damaged"),
    ("torn", 9, "damaged"),
    ("foreign", 8, "another program"),
    ("newer", 8, "this program knows"),
    ("without runs", 9, "lacks "),
    ("without a column", 9, "lacks column jobs.hidden"),
    ("without an index", 9, "lacks index"),
    ("without notes", 9, "its table meta"),
)


@pytest.mark.case("F099")
def test_what_is_no_sound_copy_is_refused_before_anything_is_touched(daemon: RealDaemon, tmp_path: Path) -> None:
    for number in range(30):
        daemon.add(f"job{number}", "true", note="x" * 2000)
    sound = backed_up(daemon, tmp_path / "sound.db")
    daemon.kill9()
    before = databases(daemon)
    for make, code, words in NO_SOUND_COPY:
        copy = tmp_path / "copy.db"
        shutil.copy(sound, copy)
        spoil(copy, make)
        given = contents(tmp_path).get("copy.db")
        done = daemon.jobctl("restore", str(copy))
        assert done.returncode == code, (make, done)
        assert any(word in done.stderr for word in words.split("|")), (make, done.stderr)
        assert databases(daemon) == before, make
        assert contents(tmp_path).get("copy.db") == given, make
    daemon.start()
    assert len(list(daemon.client.jobs())) == 30


def spoil(path: Path, how: str) -> None:
    whole = path.read_bytes()
    if how == "nothing":
        path.unlink()
    elif how == "empty":
        path.write_bytes(b"")
    elif how == "noise":
        path.write_bytes(b"not a database at all" * 100)
    elif how == "torn":
        path.write_bytes(whole[:40_960] + b"\0" * 8192 + whole[49_152:])
    elif how == "foreign":
        path.unlink()
        with contextlib.closing(sqlite3.connect(path)) as connection:
            connection.execute("CREATE TABLE theirs (x)")
    elif how.startswith("without"):
        with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute("PRAGMA legacy_alter_table = ON")
            (index,) = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'index' AND sql > ''").fetchone()
            connection.execute(
                {
                    "without runs": "DROP TABLE runs",
                    "without a column": "ALTER TABLE jobs RENAME COLUMN hidden TO remark",
                    "without an index": f"DROP INDEX {index}",
                    "without notes": "DELETE FROM meta",
                }[how]
            )
    else:
        with contextlib.closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("INSERT INTO migrations VALUES (?, 'later', 'x', '9')", (len(shipped()) + 1,))


@pytest.mark.case("F099")
@pytest.mark.case("F099")
def test_a_damaged_database_is_replaced_and_its_numbers_are_not_given_out_again(
    daemon: RealDaemon, tmp_path: Path
) -> None:
    daemon.add("kept", "true")
    copy = backed_up(daemon, tmp_path / "copy.db")
    last = [daemon.finished(daemon.triggered("kept")) for _ in range(3)][-1]
    daemon.stop()
    path = database(daemon)
    damaged = b"\xff" * 8192 + path.read_bytes()[8192:]
    path.write_bytes(damaged)
    assert daemon.launch().wait(20) == 9
    found = restored(daemon, copy)
    assert (Path(str(found["replaced"])) / "jobctl.db").read_bytes() == damaged
    daemon.start()
    run = daemon.finished(daemon.triggered("kept"))
    assert run["id"] > last["id"]
    assert run["fence"] > last["fence"]


def test_a_copy_of_the_first_schema_is_brought_to_today_before_it_is_put_in_place(
    daemon: RealDaemon, tmp_path: Path
) -> None:
    old = tmp_path / "old.db"
    old.write_bytes(gzip.decompress((SCHEMAS / "0001.db.gz").read_bytes()))
    given = hashlib.sha256(old.read_bytes()).hexdigest()
    daemon.stop()
    found = restored(daemon, old)
    assert (found["database_schema"], found["lost"]) == (1, 2)
    assert hashlib.sha256(old.read_bytes()).hexdigest() == given
    assert contents(tmp_path).keys() & {"old.db-wal", "old.db-shm"} == set()
    daemon.start()
    assert {"hourly", "nightly", "often", "later"} <= {job["name"] for job in daemon.client.jobs()}
    assert daemon.runs_of("long", state="running,ready,scheduled") == []
    assert daemon.finished(daemon.triggered("fails"))["exit_code"] == 3


@pytest.mark.case("F099")
async def test_killed_at_any_moment_it_leaves_the_old_database_or_the_new_one(
    daemon: RealDaemon, tmp_path: Path
) -> None:
    daemon.add("copied", "true")
    copy = backed_up(daemon, tmp_path / "copy.db")
    daemon.add("newest", "true")
    daemon.kill9()
    for after_ms in (*range(250, 520, 45), 5000):
        process = subprocess.Popen(
            [*CLI, "restore", str(copy)], env=daemon.environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            start_new_session=True,
        )  # fmt: skip
        try:
            process.wait(after_ms / 1000)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        store = SqliteStore(database(daemon))
        await store.open()
        await store.close()
        with opened(database(daemon)) as connection:
            invariants(connection)
            names = {name for (name,) in connection.execute("SELECT name FROM jobs")}
        assert names in ({"copied"}, {"copied", "newest"}), after_ms
    assert names == {"copied"}, "five seconds are not enough"
    left = contents(daemon.home / "state")
    assert not [name for name in left if name.startswith(("restor", "copy-"))]
    replaced = daemon.home / "state" / "replaced"
    whole = [folder for folder in replaced.iterdir() if (folder / "jobctl.db").exists()]
    assert len(whole) == len(list(replaced.iterdir()))


def test_a_daemon_of_nothing_takes_a_copy_of_another_host(daemon: RealDaemon, tmp_path: Path) -> None:
    daemon.add("kept", "true")
    daemon.finished(daemon.triggered("kept"))
    copy = backed_up(daemon, tmp_path / "copy.db")
    home = tmp_path / "e"
    done = subprocess.run(
        [sys.executable, "-m", "jobctl_daemon.restore", str(copy)], env=os.environ | {"JOBCTL_HOME": str(home)},
        capture_output=True, text=True, check=False, timeout=30,
    )  # fmt: skip
    found = json.loads(done.stdout)
    assert (found["jobs"], found["replaced"]) == (1, None)
    with real_daemon(home) as other:
        assert [job["name"] for job in other.client.jobs()] == ["kept"]
        assert other.finished(other.triggered("kept"))["state"] == "succeeded"
