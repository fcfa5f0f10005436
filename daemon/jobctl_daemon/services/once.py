"""What runs once a boot and once a start of the daemon. Called at the start, before the due scan."""

from jobctl.clock import Clock
from jobctl.states import Trigger
from jobctl_daemon.decide import due
from jobctl_daemon.store import Store


async def expand_boot(store: Store, clock: Clock, boot_key: str, epoch: int) -> int:
    """A run for each on-boot job that is there when this boot is first seen; returns how many.

    No time is compared: the clock may be wrong at boot. A daemon that dies in between makes the same ledger keys at its
    next start, and finds them taken.
    """
    known_key, _, _ = (await store.meta()).get("boot", "").partition(" ")
    if known_key == boot_key:
        return 0
    now_ms = clock.now_ms()
    jobs = await store.started_jobs("boot")
    rows = [due.once_per(job, f"boot:{boot_key}", now_ms, Trigger.BOOT) for job in jobs]
    made = await store.expand(rows, now_ms, epoch) if rows else 0
    await store.set_meta({"boot": boot_key})
    return made


async def expand_start(store: Store, clock: Clock, epoch: int) -> int:
    """A run for each on-start job; returns how many."""
    now_ms = clock.now_ms()
    jobs = await store.started_jobs("start")
    rows = [due.once_per(job, f"start:{epoch}", now_ms, Trigger.START) for job in jobs]
    return await store.expand(rows, now_ms, epoch) if rows else 0
