"""The command `tests/simulate`: one history printed, or many and their totals."""

import argparse
import itertools
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from typing import Final

from simulation.history import Told, given_of, play, steps_of
from simulation.shrink import shrunk

STEPS: Final = 110
#: Seeds that a process plays before it tells of them.
_PORTION: Final = 5
#: Failing histories that are printed.
_SHOWN: Final = 3


@dataclass(slots=True)
class Totals:
    """What many histories came to."""

    seeds: int = 0
    steps: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    failed: list[tuple[int, str]] = field(default_factory=list)

    def add(self, seed: int, steps: int, told: Told) -> None:
        self.seeds += 1
        self.steps += steps if told.failure is None else told.failure.step
        self.counts.update(told.counts)
        if told.failure is not None:
            self.failed.append((seed, told.failure.sentence))

    def merge(self, other: "Totals") -> None:
        self.seeds += other.seeds
        self.steps += other.steps
        self.counts.update(other.counts)
        self.failed += other.failed

    def lines(self) -> Iterator[str]:
        counts = self.counts
        crashes = counts["daemons killed"] + counts["runners killed"] + counts["reboots"]
        yield (
            f"{self.seeds} seeds, {self.steps} steps, {crashes} crashes, {counts['run.scheduled']} runs, "
            f"{counts['run.running']} attempts, {counts['starts']} commands, {counts['commits of several']} commits of "
            f"several, {len(self.failed)} violations"
        )
        known = {"run.scheduled", "run.running", "starts", "commits of several"}
        faults = sorted((name, number) for name, number in counts.items() if number and name not in known)
        yield "  " + ", ".join(f"{name} {number}" for name, number in faults if not name.startswith("run."))


def many(seeds: list[int], steps: int) -> Totals:
    """Plays the histories of these seeds."""
    totals = Totals()
    for seed in seeds:
        totals.add(seed, steps, play(given_of(seed), steps_of(seed, steps)))
    return totals


def show(seed: int, steps: int, tries: int) -> Iterator[str]:
    """A failing history, as small as it can be made."""
    given, drawn = given_of(seed), steps_of(seed, steps)
    told = play(given, drawn)
    if told.failure is None:
        yield f"seed {seed}: it holds when it is played alone"
        return
    kept, told = shrunk(given, drawn, told, tries)
    assert told.failure is not None
    yield f"seed {seed}, {given}: {len(kept)} of {told.failure.step} steps are needed"
    yield from told.lines
    if told.failure.where:
        yield told.failure.where
    only = ",".join(map(str, kept))
    yield f"again: tests/simulate --seed {seed} --steps {steps} --only {only}"
    yield ""


def main() -> int:
    """The exit status: 0, or 1 when a law was broken."""
    asked = _arguments()
    if asked.seed is not None:
        return _one(asked)
    began_s = time.monotonic()
    totals = Totals()
    for part in _parts(asked, began_s):
        totals.merge(part)
        for seed, sentence in part.failed:
            print(f"seed {seed}: {sentence.splitlines()[0]}", flush=True)
    for seed, _ in sorted(totals.failed)[:_SHOWN] if asked.tries else ():
        print()
        for line in show(seed, asked.steps, asked.tries):
            print(line)
    for line in totals.lines():
        print(line)
    print(f"  in {time.monotonic() - began_s:.0f} s, {asked.jobs} at once, from seed {asked.start} on")
    return 1 if totals.failed else 0


def _parts(asked: argparse.Namespace, began_s: float) -> Iterator[Totals]:
    """Portions of seeds, until there are enough of them or the time is over."""
    numbers = itertools.count(asked.start)
    until_s = began_s + asked.minutes * 60 if asked.minutes else None
    left = asked.seeds if asked.seeds or not until_s else None

    def portions() -> Iterator[list[int]]:
        nonlocal left
        while (left is None or left > 0) and (until_s is None or time.monotonic() < until_s):
            size = _PORTION if left is None else min(_PORTION, left)
            left = None if left is None else left - size
            yield list(itertools.islice(numbers, size))

    if asked.jobs == 1:
        for portion in portions():
            yield many(portion, asked.steps)
        return
    with ProcessPoolExecutor(asked.jobs) as pool:
        source = portions()
        under_way = {pool.submit(many, portion, asked.steps) for portion in itertools.islice(source, asked.jobs)}
        while under_way:
            done = next(as_completed(under_way))
            under_way.remove(done)
            yield done.result()
            under_way |= {pool.submit(many, portion, asked.steps) for portion in itertools.islice(source, 1)}


def _one(asked: argparse.Namespace) -> int:
    only = None if asked.only is None else [int(number) for number in asked.only.split(",") if number]
    told = play(given_of(asked.seed), steps_of(asked.seed, asked.steps), only=only)
    print(f"seed {asked.seed}, {asked.steps} steps, {given_of(asked.seed)}")
    for line in told.lines:
        print(line)
    print(f"database {told.dump}")
    if told.failure is None:
        return 0
    print(told.failure.where, end="")
    if only is None and asked.tries:
        print()
        for line in show(asked.seed, asked.steps, asked.tries):
            print(line)
    return 1


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="tests/simulate", description="Plays simulated histories of the daemon.")
    parser.add_argument("--seed", type=int, help="print the history of this seed alone")
    parser.add_argument("--only", help="numbers of steps, with commas: leave out all others")
    parser.add_argument("--seeds", type=int, default=0, help="how many histories (200, or until the time is over)")
    parser.add_argument("--steps", type=int, default=STEPS, help=f"steps of each ({STEPS})")
    parser.add_argument("--from", type=int, default=0, dest="start", help="the first seed (0)")
    parser.add_argument("--minutes", type=float, default=0, help="stop after so long")
    parser.add_argument("--jobs", type=int, default=1, help="processes (1)")
    parser.add_argument("--tries", type=int, default=400, help="histories played to make a failing one small; 0: none")
    asked = parser.parse_args()
    if not asked.seeds and not asked.minutes:
        asked.seeds = 200
    return asked


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    sys.exit(main())
