"""Debian's own cron and jobd with the same crontab side by side: the same starts at the same minutes? And how late?

    python benchmarks/beside_cron.py [MINUTES] [JOBS] [ROUNDS] [--cron FILE]

As root. Cron is the host's package, fetched and unpacked in a temporary folder (or FILE), and runs in a mount namespace
of its own: /etc is a copy, /run and /var/spool are empty. jobd runs the crontab live, as a file in a spool of its own.
Each command appends its name and the time to a file; both sides write the same path, which is another folder in cron's
namespace, so that the crontab is the same to the byte. Afterwards JOBS lines are due in one minute for cron alone, and
in the next but one for jobd alone, ROUNDS times.
"""

import contextlib
import pathlib
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass

from rig import Rig, quantile

PACKAGE = "cron"
_WORLD = r"""
set -eu
mount --make-rprivate /
mount --bind "$SIDE/etc" /etc
mount -t tmpfs tmpfs /run
mount -t tmpfs tmpfs /var/spool
mkdir -p /var/spool/cron/crontabs
mount --bind "$SIDE/spool" /var/spool/cron/crontabs
mount --bind "$SIDE/out" "$OUT"
exec "$CRON" -f
"""


@dataclass(frozen=True)
class Side:
    """One scheduler's folder: its table, and what its commands wrote."""

    name: str
    folder: pathlib.Path
    spool: pathlib.Path
    written: pathlib.Path

    def starts(self) -> list[tuple[str, int]]:
        """(line, ns since the epoch) of each start."""
        if not self.written.exists():
            return []
        lines = (line.split() for line in self.written.read_text().splitlines())
        return [(name, int(at)) for name, at in lines]


def table_of(out: pathlib.Path, first_s: int) -> bytes:
    """Lines of many shapes; some are due in every run of this script, some in the minutes after its start only."""
    file = out / "starts"
    now, later = time.localtime(first_s), time.localtime(first_s + 120)
    day, week = now.tm_mday, time.strftime("%a", now).lower()
    other = "mon" if week != "mon" else "tue"
    every = [*range(60)]
    schedules = {
        "each": "* * * * *",
        "stepped": "*/1 * * * *",
        "even": "*/2 * * * *",
        "odd": "1-59/2 * * * *",
        "third": "*/3 * * * *",
        "fourth": "2-58/4 * * * *",
        "list": f"{','.join(map(str, every[::2] + every[1::6]))} * * * *",
        "names": f"* * * {time.strftime('%b', now)} {week}",
        "fixed": f"{later.tm_min} {later.tm_hour} {later.tm_mday} {later.tm_mon} *",
        "each-of-hour": f"* {now.tm_hour},{later.tm_hour},{(later.tm_hour + 1) % 24} * * *",
        "weekday-number": f"*/2 * * * {now.tm_wday + 1}",
        "day-or-weekday": f"* * {day} * {other}",
        "day-and-weekday": f"* * */1 * {week}",
        "another-weekday": f"* * * * {other}",
        "another-day": f"* * {day % 28 + 1 if day < 28 else 1} * *",
        "another-hour": f"* {(now.tm_hour + 12) % 24} * * *",
        "never": "0 0 30 2 *",
    }
    lines = ["# the same for both", "SHELL=/bin/sh", 'MAILTO=""', "WORD='a b'"]
    lines += [f"{when}  date +{name}\\ \\%s\\%N >> {file}" for name, when in schedules.items()]
    lines += [f'* * * * * [ "$WORD" = "a b" ] && read line && date +$line\\ \\%s\\%N >> {file}%from-input%']
    lines += ["SHELL=/bin/bash", f"* * * * * [[ $SHELL == /bin/bash ]] && date +bash\\ \\%s\\%N >> {file}"]
    return "\n".join([*lines, ""]).encode()


def burst_of(out: pathlib.Path, at_s: int, jobs: int) -> bytes:
    """`jobs` lines that are due in one minute."""
    at = time.localtime(at_s)
    when = f"{at.tm_min} {at.tm_hour} {at.tm_mday} {at.tm_mon} *"
    lines = [f"{when} date +burst-{number}\\ \\%s\\%N >> {out / 'starts'}" for number in range(jobs)]
    return "\n".join(['MAILTO=""', *lines, ""]).encode()


def fetched(folder: pathlib.Path) -> pathlib.Path:
    """Debian's cron, unpacked and not installed."""
    package = folder / "package"
    package.mkdir()
    quiet = {"cwd": package, "check": True, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    subprocess.run(["apt-get", "update"], **quiet)
    subprocess.run(["apt-get", "download", PACKAGE], **quiet)
    (archive,) = package.glob("*.deb")
    subprocess.run(["dpkg", "-x", archive, package], **quiet)
    print(f"cron: {archive.name.removesuffix('.deb')}")
    return package / "usr/sbin/cron"


@contextlib.contextmanager
def cron_beside(side: Side, program: pathlib.Path, out: pathlib.Path) -> Iterator[None]:
    """Cron in the foreground. Its mounts go with the last process of their namespace."""
    subprocess.run(["cp", "-a", "/etc", side.folder / "etc"], check=True)
    for table in ("crontab", "cron.d"):  # the host's own lines are none of this
        subprocess.run(["rm", "-rf", side.folder / "etc" / table], check=True)
    (side.folder / "etc/cron.d").mkdir()
    environ = {"SIDE": str(side.folder), "OUT": str(out), "CRON": str(program), "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}
    process = subprocess.Popen(["unshare", "-m", "sh", "-c", _WORLD], env=environ)
    try:
        yield
        if process.poll() is not None:
            raise SystemExit(f"cron ended with {process.returncode}")
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)


def give(side: Side, table: bytes) -> None:
    """As crontab(1) does it: written beside, then renamed."""
    new = side.spool / "tmp.new"
    new.write_bytes(table)
    new.chmod(0o600)
    new.rename(side.spool / "root")


def until(instant_s: float) -> None:
    time.sleep(max(0.0, instant_s - time.time()))


def next_minute(after_s: float = 0) -> int:
    """The first whole minute at least `after_s` away."""
    return (int(time.time() + after_s) // 60 + 1) * 60


def compare(sides: tuple[Side, Side], first_s: int, minutes: int) -> bool:
    """Prints, minute by minute, how many starts each had and which one alone had."""
    per_side = []
    for side in sides:
        starts: dict[int, list[str]] = {}
        for name, at_ns in side.starts():
            starts.setdefault(at_ns // 60_000_000_000 * 60, []).append(name)
        per_side.append(starts)
    same = True
    for minute in range(first_s, first_s + minutes * 60, 60):
        there, here = (sorted(starts.get(minute, [])) for starts in per_side)
        same &= there == here and bool(here)
        verdict = "the same" if there == here else f"cron {there}, jobd {here}"
        print(f"{time.strftime('%H:%M', time.localtime(minute))}  cron {len(there):3}  jobd {len(here):3}  {verdict}")
    return same


def lags_ms(side: Side, boundary_s: int) -> list[float]:
    """From the minute to each start of its burst."""
    return [
        at_ns / 1e6 - boundary_s * 1000
        for name, at_ns in side.starts()
        if name.startswith("burst-") and at_ns >= boundary_s * 1_000_000_000
    ]


def report(name: str, values: list[float]) -> None:
    words = "  ".join(
        f"{word} {value:7.0f} ms"
        for word, value in (
            ("first", min(values)),
            ("median", quantile(values, 0.5)),
            ("p99", quantile(values, 0.99)),
            ("max", max(values)),
        )
    )
    print(f"{name}  {len(values)} starts: {words}; from the first to the last {max(values) - min(values):.0f} ms")


def main() -> None:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # what was started is ended then, too
    arguments = list(sys.argv[1:])
    own = None
    if "--cron" in arguments:
        at = arguments.index("--cron")
        own = pathlib.Path(arguments[at + 1]).resolve()
        del arguments[at : at + 2]
    minutes, jobs, rounds = (int(text) for text in (*arguments, *("5", "500", "1")[len(arguments) :]))
    daemon = Rig()
    try:
        sides = made_sides(daemon.home)
        program = own or fetched(daemon.home)
        daemon.start()
        with cron_beside(sides[0], program, daemon.home / "out"):
            same = beside(sides, daemon.home / "out", minutes)
            bursts(sides, daemon.home / "out", jobs, rounds)
    finally:
        daemon.close()
    if not same:
        raise SystemExit("the starts are not the same")


def made_sides(home: pathlib.Path) -> tuple[Side, Side]:
    """The folders of both, and the settings with which jobd runs the tables of its own."""
    cron, host = home / "cron", home / "host"
    spool = host / "var/spool/cron/crontabs"
    for folder in (cron / "spool", cron / "out", home / "out", spool):
        folder.mkdir(parents=True)
    (cron / "spool").chmod(0o1730)
    (home / "config" / "jobd.toml").write_text(f'crontabs = "on"\nhost_root = "{host}"\n')
    written = home / "out" / "starts"
    return Side("cron", cron, cron / "spool", cron / "out" / "starts"), Side("jobd", host, spool, written)


def beside(sides: tuple[Side, Side], out: pathlib.Path, minutes: int) -> bool:
    """Both with the same table for so many whole minutes."""
    first = next_minute(15)
    table = table_of(out, first)
    for side in sides:
        give(side, table)
    until(first + minutes * 60 - 3)  # what a minute starts has been started long before its end
    for side in sides:
        give(side, b"\n")
    return compare(sides, first, minutes)


def bursts(sides: tuple[Side, Side], out: pathlib.Path, jobs: int, rounds: int) -> None:
    """Each alone, since two at once would measure the machine; in turns, because the machine has other work, too."""
    figures: dict[str, list[float]] = {side.name: [] for side in sides}
    spreads: dict[str, list[float]] = {side.name: [] for side in sides}
    for side in sides * rounds:
        at = next_minute(15)
        give(side, burst_of(out, at, jobs))
        until(at + 50)
        values = lags_ms(side, at)
        give(side, b"\n")
        print(f"{side.name}: {len(values)} of {jobs} starts")
        report(side.name, values)
        figures[side.name] += values
        spreads[side.name].append(max(values) - min(values))
    cron, jobd = (figures[side.name] for side in sides)
    words = [f"{word} {quantile(jobd, share) / quantile(cron, share):.2f}" for word, share in
             (("median", 0.5), ("p99", 0.99), ("max", 1.0))]  # fmt: skip
    spread = sum(spreads["jobd"]) / sum(spreads["cron"])
    print(f"jobd / cron: {', '.join(words)}; from the first to the last {spread:.2f}")


if __name__ == "__main__":
    main()
