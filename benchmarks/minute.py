"""A job due at each whole minute: how late it starts. Then an idle daemon: what it costs.

    python benchmarks/minute.py [MINUTES] [IDLE_SECONDS]

Targets: median start within 50 ms; under 0.1 s of CPU in ten idle minutes, and nothing written.
"""

import sys
import time

from resident import written
from rig import cpu_s, quantile, rig


def main() -> None:
    minutes = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    idle_s = float(sys.argv[2]) if len(sys.argv) > 2 else 600.0
    with rig() as daemon:
        stamps = daemon.home / "stamps"
        draft = {
            "name": "each-minute",
            "schedule": {"cron": "* * * * *"},
            "target": {"command": ["/bin/sh", "-c", f"date +%s.%N >> {stamps}"]},
        }
        daemon.request("POST", "/v1/jobs", draft)
        end = (int(time.time()) // 60 + minutes) * 60 + 5
        time.sleep(end - time.time())
        lags = [float(line) % 60 * 1000 for line in stamps.read_text().split()]
        print(f"{len(lags)} starts: median {quantile(lags, 0.5):.1f} ms, max {max(lags):.1f} ms after the minute")
        daemon.request("DELETE", "/v1/jobs/each-minute")
        time.sleep(5)
        pids = daemon.pids()
        cpu, wrote = sum(cpu_s(pid) for pid in pids), sum(written(pid) for pid in pids)
        time.sleep(idle_s)
        cpu, wrote = sum(cpu_s(pid) for pid in pids) - cpu, sum(written(pid) for pid in pids) - wrote
    print(f"idle {idle_s:.0f} s: CPU {cpu:.2f} s, {wrote} bytes written")


if __name__ == "__main__":
    main()
