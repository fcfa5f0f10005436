"""A burst of 5,000 queued no-op commands, each recorded, against bare loops that start as many.

    python benchmarks/burst.py [COUNT]

Target: ≥ 0.6 × the rate of the bare posix_spawn loop. The loop with sixteen in flight uses both cores; the sequential
one is what a scheduler without any bookkeeping would do.
"""

import sys
import time

from rig import bare_loop, cpu_s, rig

NO_OP = ["/bin/true"]


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 5000
    with rig() as daemon:
        at = int(time.time()) + 6 + count // 1000
        when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at))
        daemon.add([
            {"name": f"burst-{number}", "schedule": {"at": when}, "target": {"command": NO_OP}}
            for number in range(count)
        ])  # fmt: skip
        if time.time() > at:
            raise SystemExit("storing the jobs took longer than planned")
        pids = daemon.pids()
        before = [cpu_s(pid) for pid in pids]
        time.sleep(at - time.time())
        daemon.wait(
            lambda status: not status["ready"] + status["running"] + status["scheduled"] and at < time.time() - 0.2
        )
        wall = time.time() - at
        own = [cpu_s(pid) - base for pid, base in zip(pids, before, strict=True)]
        done = 0
        cursor = ""
        while True:
            page = daemon.request("GET", f"/v1/runs?state=succeeded&limit=1000{cursor}")[1]
            done += len(page["items"])
            if not page["next"]:
                break
            cursor = f"&cursor={page['next']}"
        sequential, sequential_cpu = bare_loop(NO_OP, count, 1)
        parallel, parallel_cpu = bare_loop(NO_OP, count, 16)
    rate = count / wall
    print(f"jobd              {rate:7.0f}/s  succeeded {done} of {count}  CPU {sum(own):.2f} s (jobd {own[0]:.2f})")
    for name, seconds, cpu in (("one by one", sequential, sequential_cpu), ("16 at once", parallel, parallel_cpu)):
        print(f"loop, {name}  {count / seconds:7.0f}/s  CPU {cpu:.2f} s  ratio {rate * seconds / count:.2f}")


if __name__ == "__main__":
    main()
