"""One run of the rig: load and faults for a time, then peace, then the count."""

import collections
import itertools
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from kit.daemon import ACTIVE, RealDaemon
from kit.rig import truth
from kit.rig.commands import Commands
from kit.rig.faults import Chooser, boot_s
from kit.rig.ground import Ground, ground
from kit.rig.load import Load
from kit.rig.verdict import doubles, gaps, losses

_SLOTS = 16
_DRAIN_S = 180
_STEP_S = 0.05
_SETTINGS = f"slots = {_SLOTS}\nretention_runs = 1000000\n"


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run of the rig is. The pace is the mean time between two faults, the pause that between two requests."""

    seconds: float
    seed: int
    groups: frozenset[str]
    pace_s: float = 1.0
    pause_s: float = 0.25
    disk_mb: int = 50
    as_root: bool = False


@dataclass(slots=True)
class Report:
    """What came of it."""

    figures: dict[str, object] = field(default_factory=dict)
    faults: collections.Counter[str] = field(default_factory=collections.Counter)
    answers: collections.Counter[str] = field(default_factory=collections.Counter)
    errors: collections.Counter[str] = field(default_factory=collections.Counter)
    skipped: dict[str, str] = field(default_factory=dict)
    findings: list[str] = field(default_factory=list)

    def lines(self) -> Iterator[str]:
        for title, counts in (
            ("", self.figures),
            ("faults", self.faults),
            ("requests", self.answers),
            ("errors in the daemon's log", self.errors),
            ("left out", self.skipped),
        ):
            if counts:
                yield title
            yield from (f"  {name:<28} {count}" for name, count in sorted(counts.items(), key=lambda each: each[0]))


def run(folder: Path, plan: Plan, tell: Callable[[str], None]) -> Report:
    """Never raises for what it finds: that is in the report. The folder keeps the evidence."""
    with ground(folder, plan.disk_mb, as_root=plan.as_root) as place:
        rig = _Rig(place, plan)
        try:
            rig.bear(tell)
            rig.settle(tell)
        finally:
            rig.stop()
        return rig.report()


class _Rig:
    def __init__(self, place: Ground, plan: Plan) -> None:
        self._place = place
        self._plan = plan
        self._began_s = boot_s()
        self._commands = Commands(place.folder)
        self._commands.prepare(place.uid)
        self._daemon = RealDaemon(place.home).settings(_SETTINGS)
        self._daemon.within = place.command
        self._daemon.typed_by = place.as_user
        self._daemon.environ["HOME"] = str(place.home)
        self._load = Load(self._daemon.socket, self._commands, plan.seed, plan.pause_s)
        self._faults = Chooser(self._daemon, place, self._load.done, plan.seed, plan.groups, plan.pace_s)
        self._found: list[str] = []

    def bear(self, tell: Callable[[str], None]) -> None:
        self._daemon.start()
        self._load.prepare()
        self._load.start()
        end_s, minute_s = boot_s() + self._plan.seconds, boot_s() + 60
        try:
            while boot_s() < end_s:
                self._faults.step()
                if boot_s() >= minute_s:
                    minute_s += 60
                    tell(self._so_far())
                time.sleep(_STEP_S)
        finally:
            self._load.stop()
            self._faults.stop()

    def settle(self, tell: Callable[[str], None]) -> None:
        """Everything comes to its end, as many as may run can run again, and the daemon finds itself well."""
        tell("faults have stopped; everything drains")
        client = self._daemon.client
        self._load.settle()
        deadline_s = boot_s() + _DRAIN_S
        while left := list(client.runs(state=",".join(ACTIVE))):
            if boot_s() > deadline_s:
                self._found.append(f"no end: {len(left)} runs are active after {_DRAIN_S} s, such as {left[:3]}")
                return
            client.run(left[0]["id"], wait_s=5)
        self._slots()
        self._load.leave()
        checked = self._daemon.jobctl("status", "--check")
        if checked.returncode:
            self._found.append(f"status --check ended with {checked.returncode}: {checked.stdout}{checked.stderr}")
        looked = self._daemon.jobctl("doctor")
        # A filesystem as small as this one is a disk with too little room.
        bad = [line for line in looked.stdout.splitlines() if line.startswith("bad") and line.split()[1] != "disk"]
        if bad or looked.returncode > 1:
            self._found.append(f"doctor ended with {looked.returncode}: {looked.stdout}{looked.stderr}")

    def _slots(self) -> None:
        client = self._daemon.client
        body = {"target": self._commands.of("sleep", 60), "env": self._commands.env}
        runs = [client.create_run({**body, "name": f"slot-{number}"}) for number in range(_SLOTS + 1)]
        self._load.done.stopped |= {each["id"] for each in runs}
        self._daemon.until(lambda: client.status()["running"] >= _SLOTS)
        status = client.status()
        if (status["running"], status["ready"] + status["scheduled"]) != (_SLOTS, 1):
            self._found.append(f"of {_SLOTS + 1} commands {status['running']} run in {_SLOTS} slots")
        for each in runs:
            client.kill_run(each["id"])
        for each in runs:
            client.run(each["id"], wait_s=30)

    def stop(self) -> None:
        process = self._daemon.process
        if process is not None and process.poll() is None and (code := self._daemon.stop()):
            self._found.append(f"jobd was asked to stop and ended with {code}")

    def _so_far(self) -> str:
        said = collections.Counter(one.what for one in self._commands.said())
        tally = self._faults.tally
        kills = sum(count for name, count in tally.items() if name.startswith("kill"))
        stops = sum(count for name, count in tally.items() if name.startswith("stop "))
        return (
            f"{boot_s() - self._began_s:6.0f} s  attempts {said['start']}  acknowledged {len(self._load.done.asked)}  "
            f"kills {kills}  stops {stops}  full {tally['full disk']}  boots {tally['boot']}  "
            f"start-ups {tally['start-ups']}  clashes {said['clash']}  findings {len(self._faults.findings)}"
        )

    def report(self) -> Report:
        said, done = self._commands.said(), self._load.done
        seen = truth.read(self._place.state / "jobctl.db")
        log = self._daemon.log()
        twice = list(doubles(said))
        lost = list(losses(said, seen.runs, seen.efforts, done))
        for metronome in self._load.metronomes:
            lost += gaps(metronome, seen.ledger[metronome.job], seen.runs)
        others = [*self._found, *self._faults.findings, *self._load.bugs]
        if seen.broken:
            others.append(seen.broken)
        numbers = truth.epochs(log)
        others += [f"epoch {after} after {before}" for before, after in itertools.pairwise(numbers) if after <= before]
        starts = [one for one in said if one.what in ("start", "asked")]
        states = collections.Counter(run.state for run in seen.runs.values())
        figures: dict[str, object] = {
            "attempts started": len(starts),
            "attempts recorded": len(seen.efforts),
            "lost attempts": sum(1 for effort in seen.efforts.values() if effort.failure_class == "lost"),
            "runs": len(seen.runs),
            "runs not ended": sum(states[state] for state in ACTIVE),
            "acknowledged requests": len(done.asked),
            "due instants checked": sum(
                len(range(each.first_ms, each.until_ms, each.every_ms)) for each in self._load.metronomes
            ),
            "daemons that came up": len(numbers),
            "doubles": len(twice),
            "losses": len(lost),
            "other findings": len(others),
            "seconds": round(boot_s() - self._began_s),
            "seed": self._plan.seed,
        }
        if took_s := sorted(self._faults.takeovers_s):
            figures["takeovers, median, s"] = round(took_s[len(took_s) // 2], 2)
            figures["takeovers, slowest, s"] = round(took_s[-1], 2)
        figures |= {f"runs {state}": count for state, count in states.items()}
        return Report(
            figures,
            self._faults.tally,
            self._load.answers,
            truth.grave(log),
            self._faults.skipped,
            [*twice, *lost, *others],
        )


def short_folder() -> Path:
    """Sockets lie in it, whose paths must not be over 107 bytes."""
    return Path(tempfile.mkdtemp(prefix="rig-", dir=os.environ.get("TMPDIR", "/tmp")))
