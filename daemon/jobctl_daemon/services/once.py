"""What runs once a boot and once a start of the daemon. Called at the start, before the due scan."""

from jobctl.clock import Clock
from jobctl.states import Trigger
from jobctl_daemon.decide import due
from jobctl_daemon.store import Store


async def expand_boot(store: Store, clock: Clock, boot_key: str, epoch: int) -> int:
    """A run for each on-boot job that was there when this boot was first seen; returns how many.

    The instant is stored before anything is expanded, so that every later start of the daemon in this boot makes the
    same ledger keys, and finds them taken.
    """
    now_ms = clock.now_ms()
    known_key, _, known_ms = (await store.meta()).get("boot", "").partition(" ")
    if known_key != boot_key:
        await store.set_meta({"boot": f"{boot_key} {now_ms}"})
    slot_ms = int(known_ms) if known_key == boot_key else now_ms
    jobs = [job for job in await store.started_jobs("boot") if job.created_ms <= slot_ms]
    rows = [due.once_per(job, f"boot:{boot_key}", slot_ms, Trigger.BOOT) for job in jobs]
    return await store.expand(rows, now_ms, epoch) if rows else 0


async def expand_start(store: Store, clock: Clock, epoch: int) -> int:
    """A run for each on-start job; returns how many."""
    now_ms = clock.now_ms()
    jobs = await store.started_jobs("start")
    rows = [due.once_per(job, f"start:{epoch}", now_ms, Trigger.START) for job in jobs]
    return await store.expand(rows, now_ms, epoch) if rows else 0
