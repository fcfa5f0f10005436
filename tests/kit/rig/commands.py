"""What the commands of the rig do, and what they write down about themselves."""

import os
from pathlib import Path
from typing import NamedTuple

#: Each line is one write to a file on another disk than the daemon's. A lock is held by every process of a command,
#: so that the kernel says whether two attempts of a run, or two runs of a job that may run once, live at a time.
_WORK = """#!/bin/sh
here=${0%/*}
say() {
    read -r up _ </proc/uptime
    echo "$1 $JOBCTL_RUN_ID $JOBCTL_RUN_KEY $JOBCTL_ATTEMPT $JOBCTL_FENCE $$ $up $JOBCTL_JOB $2" >>"$here/marks"
}
began() {
    read -r stat </proc/$$/stat
    set -- $stat
    say start "${22}"
}
alone() {
    flock -n "$1"
    if [ $? = 1 ]; then say clash "$2"; fi
}
end() { say end "$1"; exit "$1"; }
exec 9>>"$here/locks/run-$JOBCTL_RUN_ID"
alone 9 run
if [ "$1" = asked ]; then
    say asked -
    grep -q "^end $JOBCTL_RUN_ID $JOBCTL_RUN_KEY .* 0$" "$here/marks" && exit 0
    exit 1
fi
if [ "$1" = single ]; then
    shift
    exec 8>>"$here/locks/job-$JOBCTL_JOB"
    alone 8 job
fi
began
case $1 in
sleep) sleep "$2" 8>&- ;;
flaky) [ "$JOBCTL_ATTEMPT" -ge "$2" ] || end 1 ;;
coin) [ $((JOBCTL_FENCE % 3)) != 0 ] || { echo "it fell on its edge"; end "$2"; } ;;
stubborn) trap '' TERM; sleep "$2" 8>&- ;;
polite) trap 'end 0' TERM; sleep "$2" 8>&- & wait ;;
leave) sleep "$2" 8>&- & ;;
print)
    line=0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde
    number=0
    while [ $number -lt "$2" ]; do echo $line; number=$((number + 1)); done
    sleep "$3" 8>&-
    end 0
    ;;
esac
end "${3:-0}"
"""


_TICKS = os.sysconf("SC_CLK_TCK")


class Said(NamedTuple):
    """One line of a command: what it says of which attempt. `at_s` is the time since boot.

    Of a start it is that of the process, not of its first word: it may have been stopped before that.
    """

    what: str
    run_id: int
    key: str
    attempt: int
    fence: int
    pid: int
    at_s: float
    job: str
    more: str


class Commands:
    """The program that every job runs, and the file in which it writes."""

    def __init__(self, folder: Path) -> None:
        self.env = {"RIG": str(folder)}
        """By which its processes are told from others."""
        self.program = folder / "work"
        self.marks = folder / "marks"
        self._locks = folder / "locks"

    def prepare(self, uid: int) -> None:
        """Writes the program; whoever has the uid may write beside it."""
        self._locks.mkdir()
        self.program.write_text(_WORK)
        self.marks.touch()
        for path in (self._locks, self.marks):
            if path.stat().st_uid != uid:
                path.chmod(0o777)

    def of(self, *words: object) -> dict[str, list[str]]:
        """The target of a job; words: what it does, for how long, and the exit code of `sleep`."""
        return {"command": ["/bin/sh", str(self.program), *(str(word) for word in words)]}

    def said(self) -> list[Said]:
        """All lines, in the order in which they were written."""
        return [said for line in self.marks.read_text().splitlines() if (said := _parsed(line))]


def _parsed(line: str) -> Said | None:
    what, run_id, key, attempt, fence, pid, at, job, more = line.split(" ")
    at_s = int(more) / _TICKS if what == "start" else float(at)
    return Said(what, int(run_id), key, int(attempt), int(fence), int(pid), at_s, job, more)
