"""Hostile schedule texts, sent by an ordinary user: each is answered or refused soon, and holds up nobody else."""

import resource
import time
from pathlib import Path
from typing import Any

import pytest

from jobctl_daemon.rows import Caller
from unit.api.world import World, world

BOB = Caller(uid=1002, name="bob")
#: Of the processor, not of the clock: others may be busy on this host.
ANSWER_S, LOOP_S = 0.25, 0.05
MEMORY_KB = 20_000

CRONS = {
    "a megabyte of zeros": "0," * 500_000 + "0 * * * *",
    "a kilobyte of zeros": "0," * 490 + "0 * * * *",
    "many ranges": ",".join(["0-59/1"] * 20_000) + " * * * *",
    "some ranges": ",".join(["0-59/1"] * 130) + " * * * *",
    "a step of nothing": "*/0 * * * *",
    "a huge range": "0-99999999999 * * * *",
    "a huge number": "1" * 900 + " * * * *",
    "a huge step": "*/99999999999999999999 * * * *",
    "a float": "1e9 * * * *",
    "many fields": "0 " * 10_000,
    "five hundred fields": "* " * 500,
    "many names": ",".join(["mon,tue,wed"] * 1_700) + " * * * *",
    "some names": "0 0 * * " + ",".join(["mon-sun"] * 120),
    "the last day": "0 0 L * *",
    "the last friday": "0 0 * * L5",
    "the first monday": "0 0 * * 1#1",
    "the ninth monday": "0 0 * * 1#9",
    "a weekday": "0 0 15W * *",
    "years": "0 0 1 1 * 0 2000-9999999",
    "a day that never comes": "0 0 31 2 *",
    "a day that seldom comes": "0 0 29 2 1",
    "backtracking": "@" + "a" * 900 + "!",
    "nested": "(" * 450 + ")" * 450,
    "words": "@every " + "1h" * 450,
    "other digits": "٠ ٠ * * *",
    "bytes of nothing": "\x00" * 900,
    "spaces": " " * 900,
    "newlines": "\n" * 300 + "* * * * *",
    "question marks": "? ? ? ? ?",
    "random": "R R(0-59) H H H",
}
OTHERS: dict[str, dict[str, Any]] = {
    "a long interval": {"every": "9" * 900 + "s"},
    "many parts of an interval": {"every": "1s" * 450},
    "a tiny interval": {"every": "0.000000001s"},
    "a time of nines": {"at": "9" * 900},
    "many words of a time": {"at": "next " * 180 + "monday"},
    "a zone that is a path": {"cron": "0 0 * * *", "timezone": "../" * 300 + "etc/passwd"},
    "a zone that is long": {"cron": "0 0 * * *", "timezone": "Europe/" + "x" * 900},
    "jitter for ever": {"cron": "0 0 * * *", "jitter": "9" * 300},
}
SCHEDULES = {**{name: {"cron": text} for name, text in CRONS.items()}, **OTHERS}


@pytest.mark.case("F128")
async def test_each_is_answered_or_refused_soon_and_never_on_the_loop(tmp_path: Path) -> None:
    async with world(tmp_path, system=True) as api:
        api.who.caller_now = BOB
        await ask(api, "/v1/schedule/preview", {"schedule": {"cron": "0 0 * * *"}, "n": 1000})
        before_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for name, schedule in SCHEDULES.items():
            status = await ask(api, "/v1/schedule/preview", {"schedule": schedule, "n": 5}, name)
            assert status in (200, 413, 422), name
            added = await ask(api, "/v1/jobs?dry_run=1", {"target": {"shell": "x"}, "schedule": schedule}, name)
            assert added in (200, 413, 422), name
            assert status == 200 or added != 200 or name == "a day that never comes", name
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kb < MEMORY_KB


@pytest.mark.case("F128")
@pytest.mark.parametrize("body", [{"n": 1_000_000_000}, {"n": -1}, {"n": 10**30}, {"n": 1000, "since": "0001-01-01"}])
async def test_nobody_asks_for_more_fires_than_are_shown(tmp_path: Path, body: dict[str, Any]) -> None:
    async with world(tmp_path, system=True) as api:
        api.who.caller_now = BOB
        for cron in ("* * * * *", "0 0 29 2 1"):
            assert await ask(api, "/v1/schedule/preview", {"schedule": {"cron": cron}, **body}, cron) in (200, 422)
        answer = await api.ask("GET", "/v1/jobs/x/next?n=1000000000")
        assert answer.status == 422


async def ask(api: World, path: str, body: Any, name: str = "") -> int:
    """The status; what it cost all threads, and this one, which is the loop's, is bounded."""
    began_s, own_s = time.process_time(), time.thread_time()
    answer = await api.ask("POST", path, body)
    assert time.thread_time() - own_s < LOOP_S, (name, path, "on the loop")
    assert time.process_time() - began_s < ANSWER_S, (name, path)
    return answer.status
