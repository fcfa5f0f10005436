"""The command: tests/faults/rig."""

import argparse
import signal
import sys
import time

from kit.rig.faults import GROUPS
from kit.rig.rig import Plan, run, short_folder


def main() -> int:
    """0 when nothing ran twice, nothing was lost and all that must hold holds; else 1."""
    options = _options()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that nothing is left then either
    seed = options.seed if options.seed is not None else time.time_ns() % 1_000_000
    groups = frozenset(options.only.split(",")) if options.only else frozenset(GROUPS)
    # Log files and rows of about eight runs a second.
    disk_mb = max(50, round(50 + 12 * options.minutes))
    folder = short_folder()
    _say(f"seed {seed}, {options.minutes:g} minutes, {', '.join(sorted(groups))}; evidence in {folder}")
    plan = Plan(options.minutes * 60, seed, groups, options.pace, options.pause, disk_mb, options.as_root)
    report = run(folder, plan, _say)
    (folder / "findings").write_text("\n\n".join(report.findings))
    table = "\n".join(report.lines())
    (folder / "table").write_text(table + "\n")
    _say(table)
    for finding in report.findings[:40]:
        _say(f"FOUND {finding[:1000]}")
    _say(f"evidence in {folder}")
    return 1 if report.findings else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="tests/faults/rig", description="Load and faults; then the count.")
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--seed", type=int, help="which faults and requests, in which order")
    parser.add_argument("--only", metavar="GROUP,…", help=f"of {', '.join(GROUPS)}")
    parser.add_argument("--pace", type=float, default=2.0, help="seconds between two faults, in the mean")
    parser.add_argument("--pause", type=float, default=0.25, help="seconds between two requests, in the mean")
    parser.add_argument("--as-root", action="store_true", help="no user of its own: with control groups, without forks")
    options = parser.parse_args()
    unknown = set(options.only.split(",")) - set(GROUPS) if options.only else set()
    if unknown:
        parser.error(f"no such group: {', '.join(sorted(unknown))}")
    return options


def _say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
