"""Start lag: 500 commands due at one minute boundary, each recorded, against a bare loop that starts the same 500.

    python benchmarks/start_lag.py [COUNT]

Each command is `sh -c 'date +%s.%N >> FILE'`: lag is what it wrote minus the boundary. Target: p99 ≤ 1.5 × the loop's,
CPU of all our processes and the commands ≤ 1.5 × the loop's.
"""

import pathlib
import sys
import time

from rig import bare_loop, cpu_s, quantile, rig


def lags(file: pathlib.Path, boundary: float) -> list[float]:
    """Seconds from the boundary to each start."""
    return [float(line) - boundary for line in file.read_text().split()]


def report(name: str, values: list[float], cpu: float) -> None:
    """One line of figures."""
    words = [f"{share:>4}: {quantile(values, share) * 1000:7.1f} ms" for share in (0.0, 0.5, 0.99)]
    print(f"{name:<12} n={len(values):<5} {'  '.join(words)}  max: {max(values) * 1000:7.1f} ms  CPU {cpu:.2f} s")


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 500
    with rig() as daemon:
        ours, bare = daemon.home / "ours", daemon.home / "bare"
        line = f"date +%s.%N >> {ours}"
        daemon.add([
            {"name": f"lag-{number}", "schedule": {"cron": "* * * * *"}, "target": {"shell": line}}
            for number in range(count)
        ])  # fmt: skip
        boundary = (int(time.time()) // 60 + 1) * 60
        pids = daemon.pids()
        before = sum(cpu_s(pid) for pid in pids)
        time.sleep(max(0.0, boundary - time.time() - 0.5))
        daemon.wait(lambda _: time.time() > boundary + 1, every_s=0.5)
        daemon.wait(lambda status: status["running"] + status["ready"] + status["scheduled"] == 0, 55)
        cpu = sum(cpu_s(pid) for pid in pids) - before
        recorded = daemon.request("GET", f"/v1/runs?limit={count}")[1]["items"]
        began = time.time()
        _, bare_cpu = bare_loop(["/bin/sh", "-c", f"date +%s.%N >> {bare}"], count, 16)
        here, there = lags(ours, boundary), lags(bare, began)
    report("jobd", here, cpu)
    report("bare loop", there, bare_cpu)
    print(f"recorded as succeeded: {sum(run['state'] == 'succeeded' for run in recorded)} of {count}")
    print(f"ratio p99 {quantile(here, 0.99) / quantile(there, 0.99):.2f} (target 1.5), CPU {cpu / bare_cpu:.2f}")


if __name__ == "__main__":
    main()
