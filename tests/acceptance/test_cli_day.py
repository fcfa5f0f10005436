"""A day with the command line against a real daemon, as a person would type it; what it says is kept in `cli_golden`.

To renew a golden file after a change that is meant: JOBCTL_GOLDEN=write, and read the difference.
"""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kit.daemon import RealDaemon, real_daemon

GOLDEN = Path(__file__).parent / "cli_golden"
PROGRAM = "from jobctl.cli.main import main; main()"
#: What differs from run to run, by what stands for it.
VARIES = (
    (r"\b(Mon|Tue|Wed|Thu|Fri|Sat|Sun) \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d [A-Z]+", "<instant>"),
    (r"\bat \d{4}-\d\d-\d\d \d\d:\d\d:\d\d [A-Z]+", "at <instant>"),
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)", "<instant>"),
    (r"\b((Mon|Tue|Wed|Thu|Fri|Sat|Sun) )?\d\d:\d\d(:\d\d)? (UTC|CES?T)", "<clock>"),
    (r"\bfence \d+", "fence <fence>"),
    (r"\b(\d+[dhm]\d\d[hms]|\d+s)\b(?= ago|$| so far)|(?<=in )\d+[a-z0-9]+", "<span>"),
    (r"(?<!late after )(?<=after )\d+(\.\d)?m?s", "<span>"),
    (r"\b[\d.]+s (?=after attempt)", "<span> "),
    (r"\bpid \d+", "pid <pid>"),
    (r"\b[0-9a-f]{16}\b", "<uid>"),
    (r"(?<=m:)[0-9a-f]{16}", "<key>"),
    (r"cpu \S+,|memory at least [\d.]+ [kMG]?B", "<usage>"),
    (r"tzdata \d+[a-z]", "tzdata <version>"),
    (r"(half|99 %) within \S+ ms|at most \S+ ms", "<lag>"),
    (r" for \d+s,", " for <span>,"),
    (r"\b(0|1)\.\ds\b|\b\d+ms\b", "<span>"),
)  # fmt: skip
DAY = (
    'add backup --cron "0 3 * * *" --tz Europe/Berlin --tag nightly --note "ask ana" -- /bin/echo backed up',
    "add broken --retries 1 --backoff 3s --shell 'echo trying; exit 7'",
    "add once --at 2035-06-01T12:00Z --paused -- /bin/true",
    "ls",
    "run backup --wait",
    "run backup -f",
    "run broken --follow",
    "log backup",
    "ls -o name --tag nightly",
    "runs",
    "why broken",
    "dlq ls",
    "dlq show broken",
    "dlq replay 3 --key again --wait",
    "dlq replay 3 --key again",
    "dlq replay broken",
    "dlq replay --class oom",
    "show 3 --run",
    "status --check",
    "status --check --new 1ms",
    "dlq discard broken --yes --why 'it is broken'",
    "dlq ls",
    "retry broken",
    "pause backup --why 'provider down'",
    "ls",
    "why backup --at '2035-01-01 03:00'",
    "why backup --at '2035-01-01 03:01'",
    "resume backup",
    "skip backup -n 2 --why holidays",
    "why backup",
    "queue set mail --concurrency 2",
    "queue pause mail --why 'smtp is down'",
    "queue ls",
    "queue resume mail",
    "daemon pause --why moving",
    "status",
    "daemon resume --catch-up",
    "daemon resume",
    "show backup",
    "show 1 --run",
    "show bakcup",
    "run --wait -- /bin/sh -c 'kill -9 $$'",
    "rm backup",
    "rm --all --yes",
    "ls",
    "status",
)


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealDaemon]:
    with real_daemon(tmp_path_factory.mktemp("cli") / "home") as made:
        yield made


def jobctl(daemon: RealDaemon, line: str) -> str:
    """What a line prints, its words behind its data, and its exit code."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *shlex.split(line)],
        env=daemon.environ | {"TZ": "UTC", "NO_COLOR": "1"},
        cwd="/",
        capture_output=True,
        text=True,
        check=False,
    )
    code = f"[{done.returncode}]\n" if done.returncode else ""
    return f"$ jobctl {line}\n{done.stdout}{done.stderr}{code}\n"


def steady(text: str, daemon: RealDaemon) -> str:
    text = text.replace(str(daemon.home), "<home>")
    status = daemon.client.status()
    text = re.sub(rf"\b(as|by)( +){status['user']}\b", r"\1\2<user>", text)
    text = text.replace(f", {status['timezone']}\n", ", <zone>\n")
    for pattern, stands in VARIES:
        text = re.sub(pattern, stands, text, flags=re.MULTILINE)
    text = re.sub(r"(?m)(?<=pid <pid>), (system|of \S+|trial of \S+ in JOBCTL_HOME \S+)$", "", text)
    text = re.sub(r"(?m)^( +PATH +).*$", r"\1<path>", text)
    text = re.sub(r"(?m)^reboot .*$", "reboot  <this host>", text)
    text = re.sub(r"(?m)^zone .*$", "zone    <this host>", text)
    text = re.sub(r"(?m)^(you|syslog) .*\n", "", text)  # of root's daemon only
    text = text.replace("; not synchronised\n", "\n")
    return re.sub(r" {2,}", "  ", text)


def test_a_day(daemon: RealDaemon) -> None:
    said = steady("".join(jobctl(daemon, line) for line in DAY), daemon)
    golden = GOLDEN / "day.txt"
    if os.environ.get("JOBCTL_GOLDEN") == "write":
        golden.write_text(said)
    assert said == golden.read_text()
