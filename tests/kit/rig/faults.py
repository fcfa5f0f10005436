"""What is done to a daemon, its runners and its commands, at moments that a seed chooses."""

import collections
import contextlib
import os
import random
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from jobctl.errors import JobctlError
from kit.daemon import RealDaemon, kill
from kit.rig.ground import Ground, tell
from kit.rig.load import hasty_client
from kit.rig.verdict import Blind, Done

GROUPS: Final = ("kills", "stops", "seconds", "standby", "forks", "descriptors", "disk", "boots")
#: After a fault that a daemon may take note of, so long until it is well again.
_RECOVERS_S: Final = 2.0
#: A standby has loaded everything by then.
_STANDS_S: Final = 2.0
_REFUSED_EXIT: Final = 5


def boot_s() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class Chooser:
    """Called again and again; each time it does what is due, and perhaps one thing more."""

    def __init__(
        self, daemon: RealDaemon, ground: Ground, done: Done, seed: int, groups: frozenset[str], pace_s: float
    ) -> None:
        self.tally: collections.Counter[str] = collections.Counter()
        self.findings: list[str] = []
        self.takeovers_s: list[float] = []
        self.skipped = self._skipped(ground, groups)
        self._daemon = daemon
        self._client = hasty_client(daemon.socket)
        self._ground = ground
        self._done = done
        self._chance = random.Random(f"{seed} faults")
        self._pace_s = pace_s
        self._later: list[tuple[float, str, Callable[[], None]]] = []
        self._next_s = boot_s() + pace_s
        self._stopped: dict[int, float] = {}
        self._limited: set[int] = set()
        self._full_since: float | None = None
        self._troubled_until = 0.0
        self._leaving = False
        self._standby: subprocess.Popen[bytes] | None = None
        self._standing_since = 0.0
        self._began_s = boot_s()
        chosen = [(fault, weight) for group, fault, weight in self._all() if group in groups - set(self.skipped)]
        self._faults, self._weights = [fault for fault, _ in chosen], [weight for _, weight in chosen]

    def _all(self) -> list[tuple[str, Callable[[], None], int]]:
        return [
            ("kills", self._kill_jobd, 6),
            ("kills", self._kill_runner, 5),
            ("kills", self._kill_runners, 2),
            ("kills", self._kill_both, 2),
            ("kills", self._kill_commands, 5),
            ("kills", self._restart, 3),
            ("stops", self._stop_jobd, 3),
            ("stops", self._stop_runner, 4),
            ("stops", self._stop_commands, 4),
            ("seconds", self._second, 2),
            ("standby", self._stand_by, 4),
            ("forks", self._no_forks, 3),
            ("descriptors", self._no_descriptors, 3),
            ("disk", self._fill, 2),
            ("boots", self._boot, 2),
        ]

    def _skipped(self, ground: Ground, groups: frozenset[str]) -> dict[str, str]:
        """The groups that cannot be had here, and why."""
        why = {}
        if not ground.can_mount:
            why = dict.fromkeys(("disk", "boots"), "only root may mount")
        if ground.uid == 0:
            why["forks"] = "the limit does not hold for root"
        return {group: words for group, words in why.items() if group in groups}

    # ── the clockwork ────────────────────────────────────────────
    def step(self) -> None:
        """What is due; then, when it is time, another fault."""
        self._do_what_is_due()
        self._watch()
        if (now_s := boot_s()) >= self._next_s:
            self._next_s = now_s + self._chance.expovariate(1 / self._pace_s)
            self._chance.choices(self._faults, self._weights)[0]()

    def stop(self) -> None:
        """All that is stopped goes on, limits and disk are as before; the daemon is up."""
        self._do_what_is_due(float("inf"))
        self._end_standby()
        deadline_s = boot_s() + 60
        while boot_s() < deadline_s:
            self._watch()
            self._do_what_is_due()
            with contextlib.suppress(JobctlError):
                if self._client.ready() and not self._leaving:
                    return
            time.sleep(0.05)
        raise AssertionError(f"the daemon does not come up: {self._daemon.log()[-3000:]}")

    def _do_what_is_due(self, until_s: float | None = None) -> None:
        limit_s = boot_s() if until_s is None else until_s
        due = [each for each in self._later if each[0] <= limit_s]
        self._later = [each for each in self._later if each[0] > limit_s]
        for _, _, action in due:
            action()

    def _after(self, seconds: float, what: str, action: Callable[[], None]) -> None:
        self._later.append((boot_s() + seconds, what, action))

    def _note(self, kind: str, more: str = "") -> None:
        self.tally[kind] += 1
        self._say(f"{kind} {more}")

    def _say(self, words: str) -> None:
        with (self._ground.folder / "faults.log").open("a") as log:
            log.write(f"{boot_s():.2f} +{boot_s() - self._began_s:.1f} {words}\n")

    def _trouble(self, seconds: float) -> None:
        """A daemon that ends, or does not start, in this time is not to blame."""
        self._troubled_until = max(self._troubled_until, boot_s() + seconds + _RECOVERS_S)

    # ── the daemon's life ────────────────────────────────────────
    def _up(self) -> bool:
        return self._daemon.process is not None and self._daemon.process.poll() is None and not self._leaving

    def _start(self) -> None:
        self._daemon.launch()
        self._note("start-ups")

    def _watch(self) -> None:
        """What a service manager does: it starts again who has ended."""
        process = self._daemon.process
        code = None if process is None else process.poll()
        if code is None or any(what == "start" for _, what, _ in self._later):
            return
        if self._leaving:
            self._leaving = False
            # One that is still coming up has no more to put in order than one that is killed.
            if code != 0 and not (code == -signal.SIGTERM and not self._was_ready()) and not self._in_trouble():
                self._find(f"jobd was asked to stop and ended with {code}")
        elif self._in_trouble() and not self._was_ready():
            self._note("start-ups refused", f"jobd ended with {code}")
        else:
            self._find(f"jobd ended by itself with {code}")
        self._replace_jobd(self._chance.uniform(0.2, 1.0))

    def _was_ready(self) -> bool:
        assert self._daemon.process is not None
        return f" pid={self._daemon.process.pid} epoch=" in self._daemon.log()

    def _find(self, what: str) -> None:
        self._say(f"FINDING {what}")
        self.findings.append(f"{what}: {self._daemon.log()[-1500:]}")

    def _in_trouble(self) -> bool:
        return boot_s() < self._troubled_until or self._full_since is not None

    def _replace_jobd(self, delay_s: float) -> None:
        """Another daemon: the one that stands by takes over by itself, else one is started."""
        if self._standby is not None:
            self._daemon.process, self._standby = self._standby, None
            died_s = boot_s()
            calm = not (self._stopped or self._limited or self._full_since)
            if calm and died_s - self._standing_since > _STANDS_S:
                self._after(0, "takeover", lambda: self._time_takeover(died_s))
        else:
            self._after(delay_s, "start", self._start)

    def _gone(self, pid: int) -> None:
        tell(pid, signal.SIGKILL)
        kill(pid)
        self._stopped.pop(pid, None)

    # ── kill -9 ──────────────────────────────────────────────────
    def _kill_jobd(self) -> None:
        if self._up():
            self._note("kill jobd")
            self._end_jobd()
            self._replace_jobd(self._chance.choice([0, 0, 0.3, 1.5]))

    def _end_jobd(self) -> None:
        assert self._daemon.process is not None
        self._gone(self._daemon.process.pid)
        self._daemon.process.wait(10)

    def _kill_runner(self) -> None:
        runners = self._ground.pids("runner")
        if runners:
            self._note("kill runner")
            self._end_runners([self._chance.choice(runners)])

    def _kill_runners(self) -> None:
        runners = self._ground.pids("runner")
        if runners:
            self._note("kill all runners")
            self._end_runners(runners)

    def _end_runners(self, pids: list[int]) -> None:
        blind_s = min([boot_s(), *(self._stopped[pid] for pid in pids if pid in self._stopped)])
        if self._full_since is not None:
            blind_s = min(blind_s, self._full_since)
        for pid in pids:
            self._gone(pid)
        self._done.blind.append(Blind(blind_s, boot_s()))
        self._trouble(0)

    def _kill_both(self) -> None:
        if self._up():
            self._note("kill jobd and runners")
            runners = self._ground.pids("runner")
            if self._chance.random() < 0.5:
                self._end_jobd()
                self._end_runners(runners)
            else:
                self._end_runners(runners)
                self._end_jobd()
            self._replace_jobd(self._chance.choice([0, 0.5, 2.0]))

    def _kill_commands(self) -> None:
        victims = self._ground.pids("command")
        for pid in self._chance.sample(victims, min(len(victims), self._chance.randint(1, 4))):
            attempt = attempt_of(pid)
            if attempt is not None:
                self._done.killed.add(attempt)
                self._note("kill command")
                tell(pid, signal.SIGKILL)

    def _restart(self) -> None:
        if self._up():
            assert self._daemon.process is not None
            self._note("clean restart")
            self._leaving = True
            tell(self._daemon.process.pid, signal.SIGTERM)

    # ── SIGSTOP ──────────────────────────────────────────────────
    def _stop_jobd(self) -> None:
        if self._up():
            assert self._daemon.process is not None
            self._note("stop jobd")
            self._stop([self._daemon.process.pid], self._long())

    def _stop_runner(self) -> None:
        runners = self._ground.pids("runner")
        if runners:
            self._note("stop runner")
            for_s = self._long()
            self._trouble(for_s)
            self._stop([self._chance.choice(runners)], for_s)

    def _stop_commands(self) -> None:
        some = self._ground.pids("command")
        if some:
            self._note("stop commands")
            self._stop(self._chance.sample(some, min(3, len(some))), self._chance.choice([0.2, 1, 3]))

    def _stop(self, pids: list[int], for_s: float) -> None:
        for pid in pids:
            self._stopped.setdefault(pid, boot_s())
            tell(pid, signal.SIGSTOP)
        self._say(f"    {pids} for {for_s} s")
        self._after(for_s, "continue", lambda: self._continue(pids))

    def _continue(self, pids: list[int]) -> None:
        for pid in pids:
            if self._stopped.pop(pid, None) is not None:
                tell(pid, signal.SIGCONT)

    def _long(self) -> float:
        """Mostly short; one of many is past what anybody waits for an answer."""
        short = [0.2, 0.5, 1, 2, 3] * 4
        return self._chance.choice([*short, 12, 60] if self._pace_s >= 1 else short)

    # ── others who would be the daemon ───────────────────────────
    def _second(self) -> None:
        """It must be turned away, whatever the first one is doing; but for the moment in which there is none."""
        if not (self._up() and self._was_ready()):
            return
        first, second = self._daemon.process, self._daemon.beside()
        self._note("second daemon")
        try:
            code = second.wait(20)
        except subprocess.TimeoutExpired:
            self._gone(second.pid)
            second.wait(10)
            code = None
        if code != _REFUSED_EXIT and first is not None and first.poll() is None:
            self._find(f"a second daemon beside the first ended with {code}")

    def _stand_by(self) -> None:
        if self._standby is not None or not self._up():
            return
        self._standby, self._standing_since = self._daemon.beside("--standby"), boot_s()
        self._note("standby")

    def _time_takeover(self, died_s: float) -> None:
        with contextlib.suppress(JobctlError):
            self._client.status()
            self.takeovers_s.append(boot_s() - died_s)
            return
        if boot_s() - died_s < 10:
            self._after(0, "takeover", lambda: self._time_takeover(died_s))

    def _end_standby(self) -> None:
        if self._standby is not None:
            self._gone(self._standby.pid)
            self._standby.wait(10)
            self._standby = None

    # ── nothing to be had ────────────────────────────────────────
    def _no_forks(self) -> None:
        """EAGAIN for each fork: the user has more processes than the limit."""
        victims = self._ground.pids(self._chance.choice(["runner", "runner", "jobd"]))
        self._note("no forks")
        self._limit(victims, "nproc", lambda _: 1)

    def _no_descriptors(self) -> None:
        victims = self._ground.pids(self._chance.choice(["runner", "jobd"]))
        self._note("no descriptors")
        spare = self._chance.randint(0, 3)
        self._limit(victims, "nofile", lambda pid: max(16, len(os.listdir(f"/proc/{pid}/fd")) + spare))

    def _limit(self, pids: list[int], what: str, to: Callable[[int], int]) -> None:
        for_s = self._chance.choice([0.3, 1, 3, 5])
        for pid in pids:
            if pid in self._limited:
                continue
            with contextlib.suppress(OSError):
                was, soft = soft_limit(pid, what), to(pid)
                if self._ground.limit(pid, what, str(soft)):
                    self._say(f"    {what} of {pid} is {soft} for {for_s} s")
                    self._limited.add(pid)
                    self._trouble(for_s)
                    self._after(for_s, "unlimit", lambda pid=pid, was=was: self._unlimit(pid, what, was))

    def _unlimit(self, pid: int, what: str, was: str) -> None:
        self._limited.discard(pid)
        self._ground.limit(pid, what, was)

    def _fill(self) -> None:
        if self._full_since is not None:
            return
        for_s = self._chance.choice([0.5, 2, 4, 8] if self._pace_s >= 1 else [0.5, 1.5])
        spare = self._chance.choice([0, 0, 4_096, 40_000])
        self._note("full disk", f"for {for_s} s but for {spare} bytes")
        self._full_since = boot_s()
        self._ground.fill(spare)
        self._after(for_s / 2, "fill", lambda: self._fill_again(spare))
        self._after(for_s, "free", self._free)

    def _fill_again(self, spare: int) -> None:
        """Others write on."""
        if self._full_since is not None:
            self._ground.fill(spare)

    def _free(self) -> None:
        if self._full_since is not None:
            self._ground.free()
            self._done.full.append(Blind(self._full_since, boot_s() + _RECOVERS_S))
            self._full_since = None
            self._trouble(0)

    # ── the machine ──────────────────────────────────────────────
    def _boot(self) -> None:
        """A power cut: all that runs is gone, and perhaps what nobody had forced to the disk; then another boot."""
        if self._leaving:
            return
        self._note("boot")
        self._free()
        self._later = [each for each in self._later if each[1] in ("fill", "free")]
        since_s = min([boot_s(), *self._stopped.values()])
        self._end_standby()
        if self._daemon.process is not None and self._daemon.process.poll() is None:
            self._end_jobd()
        self._ground.kill_all()
        if self._chance.random() < 0.3:
            since_s -= 60  # results that the daemon was too busy to read
            for record in (self._ground.state / "runner" / "records").glob("*"):
                record.unlink()
        self._stopped.clear()
        self._limited.clear()
        self._done.blind.append(Blind(since_s, boot_s()))
        self._ground.boot_anew()
        self._start()


def attempt_of(pid: int) -> tuple[int, int] | None:
    """Run and fence of a command that lives."""
    try:
        entries = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return None
    found = dict(entry.partition(b"=")[::2] for entry in entries)
    try:
        return int(found[b"JOBCTL_RUN_ID"]), int(found[b"JOBCTL_FENCE"])
    except KeyError:
        return None


_LIMITS: Final = {"nproc": "Max processes", "nofile": "Max open files"}


def soft_limit(pid: int, what: str) -> str:
    """As prlimit(1) takes it."""
    lines = Path(f"/proc/{pid}/limits").read_text().splitlines()
    return next(line[26:].split()[0] for line in lines if line.startswith(_LIMITS[what]))
