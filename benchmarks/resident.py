"""Resident memory, idle CPU, writes and readiness with 10, 10,000 and 100,000 jobs.

    python benchmarks/resident.py [IDLE_SECONDS]

Targets: ≤ 80 / 85 / 90 MB for jobd and its runners, no CPU and no writes while idle, ready in ≤ 1 s with 10,000.
"""

import sys
import time

from rig import Rig, cpu_s, rss_mb


def written(pid: int) -> int:
    """Bytes this process has caused to be written (proc(5), io)."""
    with open(f"/proc/{pid}/io", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("write_bytes"))


def measure(jobs: int, idle_s: float) -> None:
    """One size: fill, restart, look, wait, look again."""
    daemon = Rig()
    try:
        daemon.start()
        daemon.add([
            {"name": f"job-{number}", "schedule": {"cron": f"{number % 60} 0 1 1 *"}, "target": {"shell": "true"}}
            for number in range(jobs)
        ])  # fmt: skip
        assert daemon.process is not None
        daemon.process.terminate()
        daemon.process.wait(30)
        ready = daemon.start()
        pids = daemon.pids()
        memory = [rss_mb(pid) for pid in pids]
        cpu, wrote = [cpu_s(pid) for pid in pids], [written(pid) for pid in pids]
        time.sleep(idle_s)
        idle = sum(cpu_s(pid) for pid in pids) - sum(cpu)
        bytes_idle = sum(written(pid) for pid in pids) - sum(wrote)
    finally:
        daemon.close()
    words = " + ".join(f"{value:.1f}" for value in memory)
    print(f"{jobs:>7} jobs: {sum(memory):6.1f} MB ({words})  ready in {ready:.2f} s", end="  ")
    print(f"idle {idle_s:.0f} s: CPU {idle:.2f} s, {bytes_idle} bytes written")


def main() -> None:
    idle_s = float(sys.argv[1]) if len(sys.argv) > 1 else 60.0
    for jobs in (10, 10_000, 100_000):
        measure(jobs, idle_s)


if __name__ == "__main__":
    main()
