"""Applies each deliberate fault alone and tells who noticed it. Ends with 1 when nobody noticed one of them."""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

from mutants.mutants import Mutant, copy, mutants

_NOBODY: Final = "NOBODY"
#: Nothing that is asked takes longer: a fault that makes everything hang has been noticed.
_PATIENCE_S: Final = 900


def main() -> int:
    """The table, a line for each fault as soon as it is known."""
    parser = argparse.ArgumentParser(prog="tests/mutate", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="only the faults whose names hold this")
    parser.add_argument("--seeds", type=int, default=40, help="of the simulation, for each fault (default 40)")
    parser.add_argument("--tests-only", action="store_true", help="ask the tests, not the simulation")
    options = parser.parse_args()
    wanted: list[Mutant | None] = [None] if not options.names else []
    wanted += [one for one in mutants() if not options.names or any(name in one.name for name in options.names)]
    print(f"{'fault':<42} {'noticed by':<48} seconds")
    wrong = 0
    for mutant in wanted:
        began = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="jm") as folder:
            by = _noticed_by(copy(mutant, Path(folder)), mutant, 0 if options.tests_only else options.seeds)
        name = "(none: nobody may notice anything)" if mutant is None else mutant.name
        wrong += (by == _NOBODY) != (mutant is None)
        print(f"{name:<42} {by:<48} {time.monotonic() - began:7.0f}", flush=True)
    print(f"{len(wanted)} tried, {wrong} wrong")
    return 1 if wrong else 0


def _noticed_by(project: Path, mutant: Mutant | None, seeds: int) -> str:
    if seeds and (words := _violation(project, seeds)):
        return words
    for tests in () if mutant is None else mutant.tests:
        if _ran(project, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", tests).returncode == 1:
            return tests
    return _NOBODY


def _violation(project: Path, seeds: int) -> str:
    """The simulation's own words for what is broken; none when it found nothing."""
    ran = _ran(project, "-m", "simulation", "--seeds", str(seeds), "--brief")
    if ran.returncode == 0:
        return ""
    lines = [line for line in ran.stdout.splitlines() if line.startswith("broken:")]
    if ran.returncode != 1 or not lines:
        raise SystemExit(f"the simulation itself failed:\n{ran.stdout}\n{ran.stderr}")
    return f"simulation: {lines[0].removeprefix('broken:').strip()}"[:120]


def _ran(project: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join(str(project / part) for part in ("jobctl", "daemon", "tui", "tests"))
    environ = os.environ | {"PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=project,
        env=environ,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=_PATIENCE_S,
        check=False,
    )


if __name__ == "__main__":
    raise SystemExit(main())
