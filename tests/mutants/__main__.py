"""Applies each deliberate fault alone and tells who noticed it. Ends with 1 when nobody noticed one of them."""

import argparse
import re
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from mutants.mutants import Copy, Mutant, copy, mutants

_NOBODY: Final = "NOBODY"
#: Nothing that is asked takes longer: a fault that makes everything hang has been noticed.
_PATIENCE_S: Final = 900
#: Seeds played at once.
_PORTION: Final = 5
_WORDS: Final = 100


def main() -> int:
    """The table, a line for each fault as soon as it is known."""
    parser = argparse.ArgumentParser(prog="tests/mutate", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="only the faults whose names hold this")
    parser.add_argument("--seeds", type=int, default=40, help="of the simulation, at the most, for each fault (40)")
    parser.add_argument("--tests-only", action="store_true", help="ask the tests, not the simulation")
    options = parser.parse_args()
    wanted: list[Mutant | None] = [None] if not options.names else []
    wanted += [one for one in mutants() if not options.names or any(name in one.name for name in options.names)]
    print(f"{'fault':<42} {'noticed by':<100} seconds")
    wrong = 0
    for mutant in wanted:
        began = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="jm") as folder:
            by = _noticed_by(copy(mutant, Path(folder)), _tests(mutant), 0 if options.tests_only else options.seeds)
        name = "(none: nobody may notice anything)" if mutant is None else mutant.name
        wrong += (by == _NOBODY) != (mutant is None)
        print(f"{name:<42} {by:<100} {time.monotonic() - began:7.0f}", flush=True)
    print(f"{len(wanted)} tried, {wrong} wrong")
    return 1 if wrong else 0


def _tests(mutant: Mutant | None) -> Sequence[str]:
    """Without a fault all of them must pass."""
    return mutant.tests if mutant else sorted({tests for one in mutants() for tests in one.tests})


def _noticed_by(copied: Copy, tests: Sequence[str], seeds: int) -> str:
    if seeds and (words := _violation(copied, seeds)):
        return words
    for file in tests:
        if _ran(copied, "pytest", "-q", "-x", "-p", "no:cacheprovider", file).returncode == 1:
            return file
    return _NOBODY


def _violation(copied: Copy, seeds: int) -> str:
    """The simulation's own words for what is broken; none when it found nothing. A few seeds are mostly enough."""
    for first in range(0, seeds, _PORTION):
        ran = _ran(copied, "simulation", "--from", str(first), "--seeds", str(_PORTION), "--tries", "0")
        found = re.search(r"^seed (\d+): (.*)", ran.stdout, re.MULTILINE)
        if ran.returncode == 1 and found is not None:
            return f"simulation, seed {found[1]}: {found[2]}"[:_WORDS]
        if ran.returncode != 0:
            raise SystemExit(f"the simulation itself failed:\n{ran.stdout}\n{ran.stderr}")
    return ""


def _ran(copied: Copy, module: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [copied.python, "-m", module, *arguments],
        cwd=copied.project,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=_PATIENCE_S,
        check=False,
    )


if __name__ == "__main__":
    raise SystemExit(main())
