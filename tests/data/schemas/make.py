"""Makes a database of the program that is on PYTHONPATH, by running it, to be kept here under its schema's number.

    git archive COMMIT jobctl daemon | tar x -C /tmp/then
    PYTHONPATH=/tmp/then/jobctl:/tmp/then/daemon unshare --uts sh -c \
        'hostname host; python tests/data/schemas/make.py /tmp/made NUMBER'

What a daemon has after a few seconds: jobs with all kinds of schedules, one of them paused, one removed; runs that
succeeded, failed, were skipped, and some that run; from the second schema on also a dead letter, a waiting retry, an
edit, a skip, queues; from the fifth on a file that owns a job. The daemon is killed while
commands run, so that it does not tidy up.
"""

import contextlib
import gzip
import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

from jobctl.client.start import start_daemon
from jobctl.client.sync import Client
from jobctl.client.transport import UnixTransport
from jobctl.clock import SystemClock

OFTEN = {"schedule": {"timezone": "UTC", "every": "2s"}}
SLEEP = "exec sleep 1000"


def main(home: Path, number: int) -> None:
    home.mkdir(parents=True)
    environ = {**os.environ, "JOBCTL_HOME": str(home), "TZ": "UTC"}
    if number > 4:
        file_of_jobs(home / "config")
    with (home / "out").open("wb") as out:
        daemon = subprocess.Popen(
            [sys.executable, "-m", "jobctl_daemon", "--foreground"], env=environ, stdin=subprocess.DEVNULL,
            stdout=out, stderr=out, start_new_session=True,
        )  # fmt: skip
    socket = str(home / "run" / "jobd.sock")
    start_daemon(socket, SystemClock(), [sys.executable, "-c", "pass"])
    client = Client(UnixTransport(socket))
    live(client, number)
    runners = [runner["pid"] for runner in client.status()["runners"]]
    daemon.kill()
    daemon.wait()
    database = home / "state" / "jobctl.db"
    connection = sqlite3.connect(database)
    commands = [pid for (pid,) in connection.execute("SELECT pid FROM runs WHERE state = 'running' AND pid > 0")]
    connection.execute("VACUUM")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    kept = Path(__file__).parent / f"{number:04}.db.gz"
    kept.write_bytes(gzip.compress(database.read_bytes(), 9, mtime=0))
    for pid in commands:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)
    for pid in runners:
        os.kill(pid, signal.SIGKILL)


def live(client: Client, number: int) -> None:
    def add(name: str, shell: str, **fields: object) -> None:
        client.create_job({"name": name, "target": {"shell": shell}, **fields})

    def trigger(name: str, *, wait: bool = True) -> None:
        run = client.trigger(name, {})
        if wait:
            client.run(run["id"], wait_s=15)

    keeps_letters = {"on_failure": "dead", "retry": {"max": 0}} if number > 1 else {}
    add("hourly", "echo hourly", schedule={"timezone": "UTC", "cron": "0 * * * *"})
    add("nightly", "echo nightly", schedule={"timezone": "Europe/Berlin", "cron": "30 3 * * *"})
    add("later", "true", schedule={"timezone": "UTC", "at": "2126-01-01T00:00:00Z"})
    add("often", "true", **OFTEN)
    add("paused", "true", **OFTEN)
    add("overlapping", "exec sleep 7", **OFTEN)
    add("fails", "echo no such table; exit 3", **keeps_letters)
    add("long", SLEEP)
    add("removed", "true")
    for name in ("hourly", "fails", "removed"):
        trigger(name)
    if number > 1:
        of_failures(add, trigger, client)
    time.sleep(5)  # some occurrences
    client.pause_job("paused", why="noisy") if number > 1 else client.pause_job("paused")
    client.create_run({"target": {"shell": "echo once"}})
    trigger("long", wait=False)
    client.delete_job("removed")
    time.sleep(2.5)
    client.pause_job("often")


def file_of_jobs(config: Path) -> None:
    """A file that owns a job, which the daemon reads before it answers."""
    file = config / "jobs.d" / "kept.toml"
    file.parent.mkdir(parents=True)
    file.write_text('version = 1\n\n[job.declared]\ncron = "7 4 * * *"\nshell = "echo declared"\n')


def of_failures(add, trigger, client: Client) -> None:  # type: ignore[no-untyped-def]
    """What came with the second schema."""
    add("retrying", "exit 4", retry={"max": 5, "backoff": "1h"})
    trigger("retrying", wait=False)
    add("follows", "true", schedule={"after": "hourly"})
    add("edited", "true", schedule={"timezone": "UTC", "cron": "15 4 * * *"})
    client.edit_job("edited", {"target": {"shell": "false"}})
    client.skip_next("nightly", 1)
    client.set_queue("narrow", 1)
    add("queued", SLEEP, queue="narrow", overlap="allow")
    trigger("queued", wait=False)
    trigger("queued", wait=False)
    add("held", "true", queue="closed", **OFTEN)
    client.pause_queue("closed", why="closed for good")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
