"""A writer that is killed in the middle: what was answered is there, and the file is whole."""

import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from jobctl_daemon.store.sqlite import SqliteStore
from kit.invariants import invariants
from kit.stores import ADA, ROOT, Rig, request

SCRIPT = """
import asyncio, sys
from jobctl_daemon.store.sqlite import SqliteStore
from kit.stores import ADA, T0, spec

async def create(store, number):
    job = (await store.create_job(ADA, spec(f"job-{number}"), T0, T0, None)).job
    await store.trigger(ADA, job.id, T0, T0, None)
    print(job.name, flush=True)

async def main():
    store = SqliteStore(sys.argv[1])
    await store.open()
    number = 0
    while True:
        await asyncio.gather(*(create(store, number + more) for more in range(8)))
        number += 8

asyncio.run(main())
"""


@pytest.mark.parametrize("after", [1, 9, 70, 200])
async def test_what_was_answered_survives_a_kill(tmp_path: Path, after: int) -> None:
    path = tmp_path / "jobctl.db"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(path)], stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stdout is not None
        answered = [process.stdout.readline().strip() for _ in range(after)]
        process.send_signal(signal.SIGKILL)
        answered += [line.strip() for line in process.stdout if line.endswith("\n")]
    store = SqliteStore(path)
    await store.open()
    for name in answered:
        job = await store.job(ADA, name)
        rows = await store.ledger(ADA, job.id, 0, 1 << 60, 10)
        assert [(await store.run(ROOT, row.run_id or 0)).job for row in rows] == [name]
    await store.close()
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    orphans = "SELECT count(*) FROM runs r LEFT JOIN occurrences o ON o.run_id = r.id WHERE o.run_id IS NULL"
    assert connection.execute(orphans).fetchone() == (0,)
    invariants(connection)
    connection.close()


FAILURES = """
import asyncio, sys
from pathlib import Path
from jobctl.states import RunState
from jobctl_daemon.store.sqlite import SqliteStore
from kit.stores import T0, Rig, request, spec

async def life(rig, number):
    job = await rig.add(spec(f"job-{number}"))
    ids = await rig.dead(job.id, T0 - 2, T0 - 1, T0)
    key = request(f"key-{number}", verb="replay")
    replayed = await rig.replay(*ids, request=key, stop_on_failure=number % 2 == 0)
    assert replayed.replayed == ids
    print("replayed", number, *ids, flush=True)
    await rig.look()
    mine = [claim for claim in await rig.claim() if claim.job_id == job.id]
    await rig.hold("daemon", job.id)
    await rig.retrying(mine[0], T0)
    await rig.finish(*mine[1:], state=RunState.FAILED)
    await rig.let_go("daemon", job.id)
    await rig.policies(job.id, retries=number)
    print("edited", number, flush=True)

async def main():
    rig = Rig(SqliteStore(sys.argv[1]))
    await rig.begin()
    number = 0
    while True:
        await life(rig, number)
        number += 1

asyncio.run(main())
"""


@pytest.mark.parametrize("after", [1, 2, 7, 40])
async def test_failures_replays_pauses_and_edits_survive_a_kill_whole(tmp_path: Path, after: int) -> None:
    path = tmp_path / "jobctl.db"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(
        [sys.executable, "-c", FAILURES, str(path)], stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stdout is not None
        answered = [process.stdout.readline().split() for _ in range(after)]
        process.send_signal(signal.SIGKILL)
        answered += [line.split() for line in process.stdout if line.endswith("\n")]
    rig = Rig(SqliteStore(path))
    await rig.begin()
    await rig.check()
    for what, number, *ids in answered:
        job = await rig.store.job(ADA, f"job-{number}")
        if what == "edited":
            assert job.retry.max == int(number)
        else:
            again = await rig.replay(*map(int, ids), request=request(f"key-{number}", verb="replay"))
            assert again.replayed == list(map(int, ids))
    await rig.check()
    await rig.store.close()
