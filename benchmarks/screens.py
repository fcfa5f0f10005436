"""Our table and our log on a terminal of 120×40, and Textual's `DataTable` and `RichLog` beside them in the same run.

    python benchmarks/screens.py [ROWS] [LINES] [LINES OF RICHLOG]

From the data to the first paint, from a key to the last byte of its paint, what ten changes a second cost, memory.
`RichLog` gets fewer lines: it takes about 0.35 ms and 4 kB for each.
Targets: first paint ≤ 0.5 s, keys ≤ 50 ms, ten changes a second < 3 % of a core.
"""

import contextlib
import pathlib
import signal
import sys
import threading
from collections.abc import Iterator
from typing import NamedTuple

from rig import Rig, quantile, rig
from watched import Watched, python

APPS = str(pathlib.Path(__file__).with_name("screen_apps.py"))
KEYS = 40
CHANGES_S = 10.0


class Figures(NamedTuple):
    """Seconds, per cent of a core, bytes a second, MB."""

    paint: float
    key: float
    key_most: float
    page: float
    idle: float
    cpu: float
    written: float
    rss: float


def measured(program: str, size: int, last: str, *more: str, changing: tuple[str, ...] | None = None) -> Figures:
    """`last` is what stands on the screen when the data does. `changing`: arguments of another process that changes."""
    watched = Watched(python(APPS, program, str(size), *more))
    try:
        watched.begun()
        mark = watched.mark()
        given = watched.press(b"d")
        paint = watched.until_text(last, mark) - given
        watched.quiet(1.5, 900)
        keys = [watched.answer_s(b"j")[1] for _ in range(KEYS)]
        pages = [watched.answer_s(b"f")[1] for _ in range(KEYS // 4)]
        watched.press(b"G" if changing is None and program == "richlog" else b"g")
        watched.quiet(0.5)
        rss = watched.rss_mb()
        idle, _ = watched.cost(5)
        if changing is None:
            watched.press(b"c")
            watched.quiet(0.0)
            cpu, written = watched.cost(CHANGES_S)
        else:
            cpu, written = _growing(program, *changing)
        return Figures(paint, quantile(keys, 0.5), max(keys), quantile(pages, 0.5), idle, cpu, written, rss)
    finally:
        watched.close()


def _growing(program: str, *argv: str) -> tuple[float, float]:
    watched = Watched(python(APPS, program, *argv))
    try:
        watched.begun()
        mark = watched.mark()
        watched.press(b"d")
        watched.until_text("tick", mark, 60)
        return watched.cost(CHANGES_S)
    finally:
        watched.close()


def printed(daemon: Rig, lines: int) -> int:
    """A run that printed so many lines of 80 bytes, and all of them kept."""
    words = "of what a command prints, until it is through with all of its work"[:64]
    script = f'awk \'BEGIN {{ for (i = 1; i <= {lines}; i++) printf "line %09d %s\\n", i, "{words}" }}\''
    run = daemon.request("POST", "/v1/runs", {"target": {"shell": script}, "log_max": "1GB"})[1]
    while run["state"] in {"scheduled", "ready", "running"}:
        run = daemon.request("GET", f"/v1/runs/{run['id']}?wait=60")[1]
    return int(run["id"])


def through(daemon: Rig, run: int, lines: int) -> tuple[float, float]:
    """Until all lines of a log have been counted, and until a pattern has been looked for in all of them."""
    watched = Watched(python(APPS, "logview", str(lines), daemon.socket, str(run)))
    try:
        watched.begun()
        mark = watched.mark()
        given = watched.press(b"d")
        counted = watched.until_text("[counted]", mark) - given
        watched.quiet(1.0)
        mark = watched.mark()
        asked = watched.press(b"s")
        return counted, watched.until_text("[found", mark) - asked
    finally:
        watched.close()


def whole(daemon: Rig, jobs: int) -> None:
    """`jobctl ui` itself, of a daemon with so many jobs; ten of them a second are paused or go on again."""
    daemon.add(
        [
            {"name": f"job-{number:06d}", "schedule": {"cron": "0 3 * * *"}, "target": {"command": ["true"]}}
            for number in range(jobs)
        ]
    )
    first = daemon.request("GET", "/v1/jobs/window?limit=1")[1]["items"][0]
    daemon.request("POST", f"/v1/jobs/{first['id']}/pause")
    daemon.request("POST", f"/v1/jobs/{first['id']}/resume")
    watched = Watched(python("-c", "from jobctl.cli.main import main; main()", "ui"), JOBCTL_HOME=str(daemon.home))
    try:
        begun = watched.began
        painted = watched.until_text(first["name"]) - begun
        loaded = watched.when(b"\x1b[?1049h") - begun
        lines = watched.first_s() - begun
        watched.quiet(0.9, 10)
        keys = [watched.answer_s(b"j") for _ in range(KEYS)]
        pages = [watched.answer_s(b"\x06") for _ in range(KEYS // 4)]
        watched.press(b"g")
        watched.quiet(0.9, 10)
        idle, ticking = watched.cost(10)
        with changing(daemon, [one["id"] for one in daemon.request("GET", "/v1/jobs/window?limit=20")[1]["items"]]):
            cpu, written = watched.cost(CHANGES_S)
        firsts, lasts = [first for first, _ in keys], [last for _, last in keys]
        print(f"\njobctl ui, a daemon with {jobs:,} jobs")
        print(f"words {lines:.2f} s after exec, the whole first frame {painted:.2f} s after it; of that all is loaded")
        print(f"after {loaded:.2f} s, and the screen made and painted in {painted - loaded:.2f} s (target 0.5)")
        print(
            f"key to its first byte: {quantile(firsts, 0.5) * 1000:.0f} ms, most {max(firsts) * 1000:.0f} (target 50)"
        )
        print(f"to the last byte, with all that is said of the row: {quantile(lasts, 0.5) * 1000:.0f} ms")
        print(f"a page: {quantile([first for first, _ in pages], 0.5) * 1000:.0f} ms")
        print(f"idle: {idle:.1f} % of a core, {ticking:.0f} bytes a second (the clock)")
        print(f"10 changes a second: {cpu:.1f} % of a core (target 3), {written:,.0f} bytes a second")
        print(f"memory: {watched.rss_mb():.0f} MB")
    finally:
        watched.close()


@contextlib.contextmanager
def changing(daemon: Rig, jobs: list[int]) -> Iterator[None]:
    """Ten times a second one of the jobs is paused, or goes on."""
    over = threading.Event()

    def change() -> None:
        number = 0
        while not over.wait(0.1):
            verb = "pause" if number // len(jobs) % 2 == 0 else "resume"
            daemon.request("POST", f"/v1/jobs/{jobs[number % len(jobs)]}/{verb}")
            number += 1

    thread = threading.Thread(target=change)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def show(title: str, names: tuple[str, str], ours: Figures, theirs: Figures, sizes: tuple[int, int]) -> None:
    print(f"\n{title:34} {names[0] + f' ({sizes[0]:,})':>22} {names[1] + f' ({sizes[1]:,})':>22}   ratio   target")
    rows = (
        ("first paint, s", ours.paint, theirs.paint, "0.5"),
        ("key to paint, median, ms", ours.key * 1000, theirs.key * 1000, "50"),
        ("key to paint, most, ms", ours.key_most * 1000, theirs.key_most * 1000, ""),
        ("a page to paint, median, ms", ours.page * 1000, theirs.page * 1000, "50"),
        ("idle, % of a core", ours.idle, theirs.idle, "0"),
        ("10 changes a second, % of a core", ours.cpu, theirs.cpu, "3"),
        ("  written, bytes a second", ours.written, theirs.written, "8,000"),
        ("memory, MB", ours.rss, theirs.rss, ""),
    )
    for name, one, two, target in rows:
        ratio = f"{one / two:7.3f}" if two > 0 else "       "
        print(f"{name:34} {one:22,.2f} {two:22,.2f} {ratio}   {target}", flush=True)


def main() -> None:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # what was started is ended on the way out
    rows, lines, few = (int(text) for text in (*sys.argv[1:4], *("100000", "1000000", "20000")[len(sys.argv) - 1 :]))
    last = "job-0000035"
    show(
        "table",
        ("VTable", "DataTable"),
        measured("vtable", rows, last),
        measured("datatable", rows, last),
        (rows, rows),
    )
    with rig() as daemon:
        run = printed(daemon, lines)
        ticking = {
            "target": {
                "shell": "i=0; while :; do i=$((i+1)); echo tick $i of what it prints while watched; sleep 0.1; done"
            }
        }
        live = daemon.request("POST", "/v1/runs", ticking)[1]["id"]
        ours = measured(
            "logview", lines, f"line {lines:09d}", daemon.socket, str(run), changing=("0", daemon.socket, str(live))
        )
        theirs = measured("richlog", few, f"line {few:09d}")
        show("log", ("LogView", "RichLog"), ours, theirs, (lines, few))
        counted, found = through(daemon, run, lines)
        print(
            f"all {lines:,} lines counted after {counted:.2f} s, a pattern looked for in all of them in {found:.2f} s"
        )
        daemon.request("POST", f"/v1/runs/{live}/kill")
        whole(daemon, rows)


if __name__ == "__main__":
    main()
