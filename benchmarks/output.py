"""A command that prints 200 MB: what it costs the daemon, and what is kept of it.

    python benchmarks/output.py

Target: ≤ 0.1 s of CPU in jobd and its runners together; head and tail kept under the cap.
"""

import pathlib
import subprocess
import time

from rig import cpu_s, rig

WORDS = "a line of output that a chatty command repeats and repeats until it is through with its work"
PRINT = f"yes '{WORDS}' | head -c 200000000"


def main() -> None:
    with rig() as daemon:
        pids = daemon.pids()
        before = sum(cpu_s(pid, children=False) for pid in pids)
        began = time.perf_counter()
        run = daemon.request("POST", "/v1/runs", {"target": {"shell": PRINT}})[1]
        while run["state"] in {"scheduled", "ready", "running"}:
            run = daemon.request("GET", f"/v1/runs/{run['id']}?wait=60")[1]
        wall = time.perf_counter() - began
        cpu = sum(cpu_s(pid, children=False) for pid in pids) - before
        attempt = daemon.request("GET", f"/v1/runs/{run['id']}/attempts")[1]["items"][0]
        kept = sum(file.stat().st_blocks * 512 for file in pathlib.Path(daemon.home).rglob("*.log"))
        bare = time.perf_counter()
        subprocess.run(["/bin/sh", "-c", f"{PRINT} > {daemon.home}/bare"], check=True)
        bare = time.perf_counter() - bare
    print(f"{run['state']}: {attempt['log_size']} bytes printed, {attempt['log_dropped']} dropped, {kept} on disk")
    print(
        f"wall {wall:.2f} s (to a plain file {bare:.2f} s, ratio {wall / bare:.2f}), our CPU {cpu:.2f} s (target 0.1)"
    )


if __name__ == "__main__":
    main()
