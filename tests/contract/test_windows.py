"""Windows onto lists: what is in them, in which order, where a row is, and who sees what."""

import asyncio
import itertools
import random
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from jobctl.errors import InvalidInput
from jobctl.filters import WORK_MAX, Pattern, parse
from jobctl.states import Overlap, RunState
from jobctl.windows import JOB_SORTS, JobLine, RunsWindow, Window
from jobctl_daemon.rows import Caller
from jobctl_daemon.store.sqlite import SqliteStore
from jobctl_daemon.windows import JobWindow, RunWindow
from kit.stores import ADA, BOB, DAY, MINUTE, ROOT, T0, Rig, expansion, spec

MIDNIGHT = T0 - 8 * 60 * MINUTE


async def jobs(rig: Rig, q: str = "", caller: Caller = ADA, **wanted: Any) -> Window:
    return await rig.store.job_window(caller, JobWindow(q=parse(q), **wanted), rig.now_ms)


async def names(rig: Rig, q: str = "", caller: Caller = ADA, **wanted: Any) -> list[str]:
    return [item.name for item in (await jobs(rig, q, caller, **wanted)).items if isinstance(item, JobLine)]


async def line(rig: Rig, name: str) -> JobLine:
    return next(item for item in (await jobs(rig)).items if isinstance(item, JobLine) and item.name == name)


async def runs(rig: Rig, q: str = "", caller: Caller = ADA, **wanted: Any) -> RunsWindow:
    asked = RunWindow(midnight_ms=MIDNIGHT, q=parse(q), **wanted)
    return await rig.store.run_window(caller, asked, rig.now_ms)


async def run_ids(rig: Rig, q: str = "", caller: Caller = ADA, **wanted: Any) -> list[int]:
    return [item.id for item in (await runs(rig, q, caller, **wanted)).items]


async def spoil(rig: Rig, statement: str, *parameters: object) -> None:
    """What no call of the store does to its tables."""
    store = rig.store
    assert isinstance(store, SqliteStore)
    await store._writer.submit(lambda connection: connection.execute(statement, parameters) and None)


async def everything(rig: Rig) -> dict[str, int]:
    """A job of each kind; their ids by name."""
    at = T0 - 50 * MINUTE
    ids: dict[str, int] = {}

    async def add(name: str, next_ms: int | None = T0 + MINUTE, **changes: Any) -> int:
        ids[name] = (await rig.add(spec(name, **changes), next_ms=next_ms)).id
        return ids[name]

    rig.now_ms = at
    await rig.finished(await add("failed-first"), at, state=RunState.FAILED)
    rig.now_ms = at + MINUTE
    await rig.finished(await add("failed-last"), at, state=RunState.FAILED)
    await rig.dead(await add("dead-before"), at - 1)
    await rig.finished(ids["dead-before"], at)
    rig.now_ms = T0
    parked = await add("parked")
    await rig.store.park(parked, (await rig.cursor(parked)).revision, "no such day", T0)
    await rig.claimed(await add("running"), T0 - MINUTE)
    (claim,) = await rig.claimed(await add("retrying"), T0)
    await rig.retrying(claim)
    await rig.finished(await add("ok", T0 + 3 * MINUTE, tags=["db", "night"]), T0)
    await add("new", T0 + 2 * MINUTE)
    await rig.pause(await add("held"))
    await add("by-hand", None, cron=None)
    done = await add("done", None, at_ms=T0)
    await rig.finished(done, T0)
    for name, next_ms in (("failed-first", 5), ("failed-last", 6), ("ok", 3), ("dead-before", 4)):
        await rig.expand(expansion(await rig.cursor(ids[name]), (), next_ms=T0 + next_ms * MINUTE))
    await rig.ready(await add("late"), T0 - 20_000)
    await rig.ready(await add("queued"), T0 - 5_000)
    return ids


# ── order ──────────────────────────────────────────────


async def test_trouble_comes_first_then_what_fires_next_then_what_waits_for_nothing(rig: Rig) -> None:
    await everything(rig)
    assert await names(rig) == [
        "failed-last", "failed-first", "parked", "late", "retrying", "running", "queued",
        "new", "ok", "dead-before", "held", "by-hand",
    ]  # fmt: skip


async def test_each_part_of_a_list_is_that_part_of_the_whole(rig: Rig) -> None:
    await everything(rig)
    for sort, reverse, q in itertools.product(JOB_SORTS, (False, True), ("", "-name:parked")):
        whole = await names(rig, q, sort=sort, reverse=reverse)
        assert len(whole) == 12 - bool(q)
        for limit in (1, 2, 5, 100):
            parts = [
                await names(rig, q, sort=sort, reverse=reverse, offset=offset, limit=limit)
                for offset in range(0, len(whole) + limit, limit)
            ]
            assert [name for part in parts for name in part] == whole, (sort, reverse, q, limit)


async def test_lists_are_sorted_either_way_and_what_has_no_value_is_last(rig: Rig) -> None:
    await everything(rig)
    by_name = sorted(await names(rig))
    assert await names(rig, sort="name") == by_name
    assert await names(rig, sort="name", reverse=True) == by_name[::-1]
    timed = ["new", "ok", "dead-before", "failed-first", "failed-last"]
    assert (await names(rig, sort="next"))[:5] == timed
    assert (await names(rig, sort="next", reverse=True))[:5] == timed[::-1]
    assert await names(rig, sort="attention", reverse=True) == (await names(rig))[::-1]
    assert (await names(rig, sort="last"))[0] == "ok"
    assert (await names(rig, sort="last", reverse=True))[0] == "failed-first"
    assert (await names(rig, sort="last", reverse=True))[-2:] == ["retrying", "running"]
    assert (await names(rig, sort="state"))[:3] == ["failed-first", "failed-last", "parked"]


async def test_the_longest_last_run_comes_first(rig: Rig) -> None:
    for name, took_ms in (("short", 1_000), ("long", 9_000), ("middle", 5_000)):
        (claim,) = await rig.claimed((await rig.add(spec(name))).id, T0)
        await rig.finish(claim, started_ms=T0 - took_ms)
    await rig.add(spec("never"))
    assert await names(rig, sort="duration") == ["long", "middle", "short", "never"]
    assert await names(rig, sort="duration", reverse=True) == ["short", "middle", "long", "never"]
    assert (await line(rig, "long")).last.duration == 9  # type: ignore[union-attr]


async def test_a_page_around_a_job_has_it_and_one_that_is_not_there_changes_nothing(rig: Rig) -> None:
    ids = await everything(rig)
    whole = await names(rig)
    for name in whole:
        window = await jobs(rig, around=ids[name], limit=5)
        assert window.offset == whole.index(name) // 5 * 5
        assert name in [item.name for item in window.items if isinstance(item, JobLine)]
    assert (await jobs(rig, around=9_999, offset=5, limit=5)).offset == 5
    assert (await jobs(rig, "failed", around=ids["ok"], limit=5)).offset == 0


# ── rows ──────────────────────────────────────────────


async def test_the_word_of_a_job_is_the_first_that_is_so(rig: Rig) -> None:
    await everything(rig)
    found = {item.name: (item.state, item.rank) for item in (await jobs(rig)).items if isinstance(item, JobLine)}
    assert found == {
        "failed-first": ("failed", 0), "failed-last": ("failed", 0), "parked": ("parked", 0), "late": ("late", 1),
        "retrying": ("retrying", 2), "running": ("running", 3), "queued": ("queued", 4), "new": ("new", 5),
        "ok": ("ok", 5), "dead-before": ("ok", 5), "held": ("paused", 6), "by-hand": ("manual", 7),
    }  # fmt: skip


async def test_a_failing_job_keeps_its_place_while_it_runs_again(rig: Rig) -> None:
    job = await rig.add(spec("flaky"))
    await rig.finished(job.id, T0 - MINUTE, state=RunState.FAILED)
    await rig.claimed(job.id, T0)
    now = await line(rig, "flaky")
    assert (now.state, now.rank, now.recent) == ("running", 0, "x>")


async def test_a_row_tells_what_a_job_is_at_and_how_it_went(rig: Rig) -> None:
    ids = await everything(rig)
    retrying, failed = await line(rig, "retrying"), await line(rig, "failed-last")
    assert retrying.active is not None
    assert (retrying.active.state, retrying.active.attempt, retrying.active.started_at) == (RunState.READY, 1, None)
    assert (await line(rig, "late")).late_since == "2027-01-15T07:59:40Z"
    assert failed.last is not None
    assert (failed.last.state, failed.last.failure_class, failed.last.exit_code) == (RunState.FAILED, "exit_code", 3)
    assert (failed.error, failed.active) == ("exit 3", None)
    assert (await line(rig, "parked")).error == "no such day"
    before = await line(rig, "dead-before")
    assert (before.dead, before.recent, before.error) == (1, "x.", None)
    held = await line(rig, "held")
    assert (held.suspended_by, held.paused_why, held.next_run_at) == ("job", "the job was paused by ada", None)
    ok = await line(rig, "ok")
    assert (ok.id, ok.tags, ok.expression, ok.words) == (ids["ok"], ["db", "night"], "* * * * *", "every minute")
    assert (ok.p50, ok.p95, retrying.p50) == (0, 0, None)


async def test_the_last_ten_runs_are_told_oldest_first(rig: Rig) -> None:
    job = await rig.add(spec("much", overlap=Overlap.ALLOW))
    for state in (RunState.SUCCEEDED, *[RunState.FAILED] * 2, *[RunState.SUCCEEDED] * 7, RunState.CANCELLED):
        await rig.finished(job.id, rig.now_ms, state=state)
        rig.now_ms += 1_000
    assert (await line(rig, "much")).recent == "xx.......k"
    await rig.claimed(job.id, rig.now_ms)
    assert (await line(rig, "much")).recent == "x.......k>"


async def test_a_run_that_is_ok_only_after_a_retry_or_a_replay_is_told_as_such(rig: Rig) -> None:
    job = await rig.add(spec("again"))
    await rig.finished(job.id, T0 - 3 * MINUTE)
    (claim,) = await rig.claimed(job.id, T0 - 2 * MINUTE)
    await rig.retrying(claim, rig.now_ms)
    await rig.finish(*await rig.claim(1))
    (dead,) = await rig.dead(job.id, T0 - MINUTE)
    assert (await line(rig, "again")).recent == ".rx"
    await rig.replay(dead)
    await rig.look()
    await rig.finish(*await rig.claim(1))
    assert (await line(rig, "again")).recent == ".rr"


async def test_what_waits_for_its_retry_says_how_its_last_attempt_failed(rig: Rig) -> None:
    (claim,) = await rig.claimed((await rig.add(spec("shaky"))).id, T0)
    begun = (await line(rig, "shaky")).active
    await rig.retrying(claim)
    waits = (await line(rig, "shaky")).active
    assert begun is not None
    assert waits is not None
    assert (begun.failure_class, begun.exit_code, begun.reason) == (None, None, None)
    assert (waits.failure_class, waits.exit_code, waits.signal) == ("exit_code", 3, None)
    assert waits.reason == "exit 3"


async def test_a_spoilt_definition_harms_its_own_row_alone(rig: Rig) -> None:
    ids = await everything(rig)
    (kept,) = await rig.rows("SELECT schedule, execution FROM schedule_versions WHERE job_id = ?", ids["ok"])
    (rules,) = await rig.rows("SELECT policies FROM jobs WHERE id = ?", ids["late"])
    await spoil(rig, "UPDATE jobs SET policies = 'no json' WHERE id = ?", ids["late"])
    await spoil(rig, "UPDATE schedule_versions SET schedule = '{', execution = '[' WHERE job_id = ?", ids["ok"])
    found = {item.name: item.state for item in (await jobs(rig)).items if isinstance(item, JobLine)}
    assert (found["late"], found["ok"], len(found)) == ("parked", "parked", 12)
    assert await names(rig, "tag:night") == ["ok"]
    assert await names(rig, "state:late command:true state:manual") == []
    await spoil(rig, "UPDATE jobs SET policies = ? WHERE id = ?", rules["policies"], ids["late"])
    columns = (kept["schedule"], kept["execution"], ids["ok"])
    await spoil(rig, "UPDATE schedule_versions SET schedule = ?, execution = ? WHERE job_id = ?", *columns)


# ── filters ──────────────────────────────────────────────


@pytest.mark.parametrize(("q", "found"), [
    ("state:failed", {"failed-first", "failed-last"}), ("state:late", {"late"}), ("state:retrying", {"retrying"}),
    ("state:running", {"running"}), ("state:queued", {"queued", "late"}), ("state:parked", {"parked"}),
    ("state:paused", {"held"}), ("state:manual", {"by-hand"}), ("state:done", {"done"}),
    ("state:dead", {"dead-before"}),
    ("state:ok", {"ok", "new", "by-hand", "dead-before"}),
    ("state:failed,late", {"failed-first", "failed-last", "late"}),
    ("state:new", {"new", "by-hand", "held", "parked", "late", "queued", "running", "retrying"}),
    ("state:quarantined", set()), ("state:skipping", set()),
    ("FAILED", {"failed-first", "failed-last"}), ("/^(new|ok)$/", {"new", "ok"}),
    ("late", {"late"}), ("paused", {"held"}), ("manual", {"by-hand"}), ("retry", {"retrying"}),
    ("dead", {"dead-before"}), ("ok", {"ok", "new", "by-hand", "dead-before"}), ('"ok"', {"ok"}),
    ('"dead" paused', set()),
    ("name:failed*", {"failed-first", "failed-last"}),
    ("name:failed", set()), ("tag:NIGHT", {"ok"}), ("tag:ni*", {"ok"}), ("tag:nigh", set()),
    ("next<150s", {"new"}), ("next>150s next<5m", {"ok", "dead-before"}),
    ("last>40m", {"failed-first", "failed-last", "dead-before"}),
    ("exit:3", {"failed-first", "failed-last"}), ("exit:0", {"ok", "dead-before"}),
    ("exit>0 last<1h", {"failed-first", "failed-last"}),
    ("class:exit_code", {"failed-first", "failed-last"}), ("error:\"EXIT 3\"", {"failed-first", "failed-last"}),
    ("trigger:schedule -exit:3", {"ok", "dead-before"}), ("owner:bob", set()), ("source:api name:ok", {"ok"}),
    ("command:TRU name:new", {"new"}), ("command:false", set()), ("queue:def* name:new", {"new"}),
])  # fmt: skip
async def test_a_filter_means_these_jobs_and_its_negation_all_others(rig: Rig, q: str, found: set[str]) -> None:
    await everything(rig)
    window = await jobs(rig, q)
    assert {item.name for item in window.items if isinstance(item, JobLine)} == found
    assert window.total == len(found)
    if " " not in q and "done" not in q:
        live = set(await names(rig))
        assert set(await names(rig, f"-{q}")) == live - found


async def test_a_filter_that_means_no_state_of_such_rows_is_refused(rig: Rig) -> None:
    with pytest.raises(InvalidInput, match="never succeeded"):
        await jobs(rig, "state:succeeded")
    with pytest.raises(InvalidInput, match="never parked"):
        await runs(rig, "x state:parked")


async def test_a_pattern_that_was_written_to_be_slow_is_broken_off(rig: Rig) -> None:
    for number in range(300):
        letters = "".join("ab"[bit] for bit in map(int, f"{number:016b}"))
        await rig.add(spec(letters * 7))
    with pytest.raises(InvalidInput, match="too long"):
        await jobs(rig, "/(a|b)*a" + "(a|b)" * 30 + "c/")
    assert (await jobs(rig, "/ab+a$/")).total > 0


async def test_all_patterns_of_a_question_are_given_up_after_what_one_of_them_may_take(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each for itself is quick; together they look at more characters than a question may."""
    walked = 0
    found_in = Pattern.found_in

    def counting(pattern: Pattern, text: str) -> bool:
        nonlocal walked
        walked += len(text)
        return found_in(pattern, text)

    monkeypatch.setattr(Pattern, "found_in", counting)
    letters = random.Random(1)
    names = ["".join(letters.choices("abcdefghijklmnopqrstuvwxyz-", k=125)) for _ in range(2_000)]
    await rig.store.create_jobs(ADA, [(spec(f"x{name}"), None) for name in names], rig.now_ms)
    one = await jobs(rig, "-/_1/")
    assert (one.total, walked) == (2_000, 2_000 * 126)
    letters_after = ("", *"abcdefghijklmnop")
    for q in (
        " ".join(f"-/_{number}/" for number in range(18)),
        " ".join(f"-/[abcdef]*[abc].{{14}}y{letter}/" for letter in letters_after),
    ):
        walked = 0
        with pytest.raises(InvalidInput, match="patterns take too long") as raised:
            await jobs(rig, q)
        assert "tag:" in raised.value.hint
        assert walked <= WORK_MAX + 126


# ── turns ──────────────────────────────────────────────


@pytest.mark.parametrize("asked", [jobs, runs])
async def test_another_account_waits_for_one_question_of_ten(rig: Rig, asked: Callable[..., Awaitable[Any]]) -> None:
    answered: list[str] = []

    async def ask(caller: Caller) -> None:
        await asked(rig, "/x/", caller)
        answered.append(caller.name)

    await asyncio.gather(*(ask(ADA) for _ in range(10)), ask(BOB), ask(ROOT))
    assert answered[:3] == [ADA.name, ROOT.name, BOB.name]
    assert answered[3:] == [ADA.name] * 9


async def test_questions_of_those_who_do_not_wait_for_the_answer_hold_up_nobody(rig: Rig) -> None:
    """What a connection had begun that is gone is finished before the next begins, so that nothing piles up."""
    assert isinstance(rig.store, SqliteStore)
    browser, go_on = rig.store._browser, threading.Event()
    busy = browser.submit(lambda _: go_on.wait(30))
    for _ in range(10):
        asked = asyncio.ensure_future(jobs(rig, "/x/"))
        await asyncio.wait([asked], timeout=0.001)
        asked.cancel()
        await asyncio.wait([asked])
    assert browser._posted - browser._done == 2
    go_on.set()
    await busy
    assert (await jobs(rig, "", BOB)).total == 0


# ── whose ──────────────────────────────────────────────


@pytest.mark.parametrize("alone", [False, True])
async def test_others_are_in_no_part_and_no_number(rig: Rig, alone: bool) -> None:
    if not alone:
        mine = await rig.add(spec("mine"), owner=BOB)
        await rig.finished(mine.id, T0)
    own = [] if alone else ["mine"]
    await everything(rig)
    for sort, q in itertools.product(JOB_SORTS, ("", "state:failed,ok", "-name:x", "/./")):
        window = await jobs(rig, q, BOB, sort=sort)
        assert (window.total, await names(rig, q, BOB, sort=sort)) == (len(own), own), (sort, q)
        assert (await jobs(rig, q, ROOT, sort=sort)).total == len(own) + (await jobs(rig, q, sort=sort)).total
    window = await runs(rig, "", BOB)
    assert (window.total, window.active, len(window.items)) == (len(own), 0, len(own))
    assert window.today == ({} if alone else {"succeeded": 1})
    assert (await runs(rig, "/./ -state:dead", BOB)).total == len(own)
    theirs = (await run_ids(rig))[0]
    assert (await runs(rig, "", BOB, around=theirs, offset=7, limit=5)).offset == 7


async def test_the_event_is_of_the_instant_of_the_rows(rig: Rig) -> None:
    assert (await jobs(rig)).event == 0
    job = await rig.add()
    assert (await jobs(rig)).event == (await runs(rig)).event == rig.events[-1].id
    await rig.finished(job.id, T0)
    assert (await jobs(rig)).event == (await runs(rig)).event == rig.events[-1].id


# ── runs ──────────────────────────────────────────────


async def various(rig: Rig) -> dict[str, int]:
    """A run of each kind; their ids by what they are."""
    found: dict[str, int] = {}
    job = await rig.add(spec("many", overlap=Overlap.ALLOW))
    rig.now_ms = T0 - 2 * DAY
    (found["old"],) = await rig.finished(job.id, rig.now_ms)
    rig.now_ms = T0 - 30 * MINUTE
    (claim,) = await rig.claimed(job.id, rig.now_ms)
    (found["failed"],) = await rig.finished(job.id, rig.now_ms - 1, state=RunState.FAILED)
    rig.now_ms += MINUTE
    (found["dead"],) = await rig.dead(job.id, rig.now_ms)
    rig.now_ms += MINUTE
    await rig.finish(claim)
    found["slow"] = claim.run_id
    rig.now_ms = T0
    (first,) = await rig.claimed(job.id, T0 - 2)
    (second,) = await rig.claimed((await rig.add(spec("other"))).id, T0 - 1)
    await rig.begun(second)
    found |= {"running": second.run_id}
    await rig.retrying(first)
    found["retrying"] = first.run_id
    (found["waiting"],) = await rig.ready(job.id, T0 - 3)
    (found["to come"],) = await rig.scheduled(job.id, T0 + MINUTE)
    return found


ORDER = ("running", "retrying", "waiting", "to come", "slow", "dead", "failed", "old")


async def test_what_has_not_ended_comes_first_then_the_newest_end(rig: Rig) -> None:
    ids = await various(rig)
    window = await runs(rig)
    assert [item.id for item in window.items] == [ids[name] for name in ORDER]
    assert (window.active, window.total) == (4, 8)
    assert window.today == {"succeeded": 1, "failed": 1, "dead": 1}


@pytest.mark.parametrize("q", ["", "many", "/a/ -owner:bob"])
async def test_each_part_of_the_runs_is_that_part_of_the_whole(rig: Rig, q: str) -> None:
    await various(rig)
    whole = await run_ids(rig, q)
    for limit in (1, 2, 3, 7):
        parts = [await run_ids(rig, q, offset=offset, limit=limit) for offset in range(0, len(whole) + limit, limit)]
        assert [run_id for part in parts for run_id in part] == whole
    for run_id in whole:
        window = await runs(rig, q, around=run_id, limit=3)
        assert window.offset == whole.index(run_id) // 3 * 3


@pytest.mark.parametrize(("q", "found"), [
    ("state:active", {"running", "retrying", "waiting", "to come"}), ("state:running", {"running"}),
    ("state:retrying", {"retrying"}), ("state:waiting", {"waiting"}), ("state:dead", {"dead"}),
    ("state:failed,dead", {"failed", "dead"}), ("state:succeeded", {"slow", "old"}), ("state:skipped", set()),
    ("failed", {"failed", "dead"}), ("ok", {"slow", "old"}), ("retry", {"retrying"}), ('"failed"', set()),
    ("failed many", {"failed", "dead"}), ("failed other", set()), ("killed", set()),
    ("other", {"running"}), ("name:man* state:succeeded", {"slow", "old"}), ("last>1d", {"old"}),
    ("next<5m state:scheduled", {"to come"}), ("exit:3", {"failed", "dead", "retrying"}), ("exit:0", {"slow", "old"}),
    ("class:exit_code -state:retrying", {"failed", "dead"}), ("error:space", {"dead"}), ("trigger:manual", set()),
    ("dur<1m", {"running", "failed", "dead", "slow", "old"}), ("state:late", {"slow"}), ("tag:x", set()),
    ("queue:default state:dead", {"dead"}), ("owner:ada state:old", None),
])  # fmt: skip
async def test_a_filter_means_these_runs(rig: Rig, q: str, found: set[str] | None) -> None:
    ids = await various(rig)
    if found is None:
        with pytest.raises(InvalidInput, match="not known"):
            parse(q)
        return
    window = await runs(rig, q)
    kinds = {ids[name]: name for name in ids}
    assert {kinds[item.id] for item in window.items} == found
    assert window.total == len(found)


async def test_what_waits_says_for_what(rig: Rig) -> None:
    queued = await rig.add(spec("queued", overlap=Overlap.QUEUE))
    await rig.claimed(queued.id, T0 - 2)
    (waits,) = await rig.scheduled(queued.id, T0 - 1)
    await rig.look()
    limited = await rig.add(spec("limited", queue="mail"))
    await rig.store.set_queue("mail", 2, T0)
    (ready,) = await rig.ready(limited.id, T0)
    (free,) = await rig.ready((await rig.add(spec("free"))).id, T0)
    (later,) = await rig.scheduled(limited.id, T0 + MINUTE)
    said = {item.id: item.waits_for for item in (await runs(rig)).items}  # type: ignore[union-attr]
    assert said[waits] == "an earlier run of its job"
    assert said[ready] == "a place in the queue mail, which runs 2 at once"
    assert (said[free], said[later]) == ("a free slot", None)


async def test_deliveries_of_mail_are_no_part_of_the_list(rig: Rig) -> None:
    job = await rig.add(spec("told"))
    (run_id,) = await rig.finished(job.id, T0)
    ((key,),) = [row.values() for row in await rig.rows("SELECT key FROM history WHERE id = ?", run_id)]
    await spoil(rig, "UPDATE history SET key = 'mail:1', mail = 1 WHERE id = ?", run_id)
    window = await runs(rig)
    assert (window.total, window.items, window.today) == (0, [], {})
    assert (await runs(rig, "told")).total == (await runs(rig, "state:succeeded")).total == 0
    await spoil(rig, "UPDATE history SET key = ?, mail = 0 WHERE id = ?", key, run_id)
