"""Somebody asks whether the store is well: a real write, and how its threads are, without asking them."""

from jobctl_daemon.rows import JobFilter
from kit.stores import ADA, T0, Rig


async def test_a_probe_is_a_write_and_no_event(rig: Rig) -> None:
    await rig.add()
    before, events = await rig.store.meta(), list(rig.events)
    await rig.store.probe(T0 + 5)
    after = await rig.store.meta()
    assert {name: after[name] for name in after if after.get(name) != before.get(name)} == {"probed_ms": str(T0 + 5)}
    assert rig.events == events


async def test_what_was_done_counts_and_nothing_waits_when_all_is_done(rig: Rig) -> None:
    before = rig.store.watched()
    await rig.add()
    await rig.store.meta()
    await rig.store.jobs(ADA, JobFilter())
    while any(one.since_ms is not None for one in rig.store.watched().values()):  # it answers before it has counted
        await rig.store.meta()
    after = rig.store.watched()
    assert after.keys() == before.keys()
    assert all(after[name].beats > before[name].beats for name in after)
    assert all(one.since_ms is None and one.last_ms > 0 for one in after.values())
