"""The entry, and the only maker of exit codes.

Nothing heavy is imported here: `--version` and `--help` are answered before Typer and the rest are loaded.

| code | meaning |
|---|---|
| 0 | done |
| 1 | it failed, there is trouble, or there are differences |
| 2 | wrong usage |
| 3 | not found |
| 4 | daemon unreachable, or not able to do it now |
| 5 | conflict |
| 6 | no permission |
| 7 | partly done |
| 8 | versions do not match |
| 9 | the database is damaged |
| 70 | a bug of ours |
| 124 | timed out |
| 126, 127 | its program could not be started; there is no such program |
| 130 | interrupted |

`wait`, `run --wait` and `run --follow` end with the command's own code, 128 + N for signal N.
"""

import contextlib
import gc
import os
import sys

from jobctl import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NoReturn

    from jobctl.cli.ending import How
    from jobctl.cli.world import World

#: Called by this name, it is crontab(1).
CRONTAB = "crontab"

OK = 0
TROUBLE = 1
USAGE = 2
BUG = 70
TIMED_OUT = 124
NOT_STARTED = 126
NO_PROGRAM = 127
SIGNALLED = 128
INTERRUPTED = 130


def main() -> "NoReturn":
    """The console script."""
    arguments = sys.argv[1:]
    called = os.path.basename(sys.argv[0]) if sys.argv else ""
    if sys.stdout is None:  # the caller has closed it: the answer goes nowhere, the exit code still counts
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115
    if arguments == ["--version"] and called != CRONTAB:
        sys.stdout.write(f"jobctl {__version__}\n")
        raise SystemExit(OK)
    gc.set_threshold(50_000)  # imports make no garbage worth looking for: a tenth of the time of `ls`
    try:
        from jobctl.cli.world import real_world

        world = real_world()
        code = run(arguments, world, called)
    except KeyboardInterrupt:  # so early that nothing was begun
        os._exit(INTERRUPTED)
    _leave(code, world)


def _leave(code: int, world: "World") -> "NoReturn":
    """End without taking the interpreter apart, which is time that nobody is served by."""
    for stream in (world.stdout, world.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)


def run(arguments: "Sequence[str]", world: "World", called: str = "jobctl") -> int:
    """Carry out one command line and say how it went. Never raises. `called`: the program's name."""
    from jobctl.cli.failure import report

    try:
        return _run(arguments, world, called)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        _silence(world)
        return OK
    except BaseException as error:  # the border: nothing leaves but an exit code
        if world.environ.get("JOBCTL_DEBUG"):
            raise
        return report(error, arguments, world) or BUG


def _run(arguments: "Sequence[str]", world: "World", called: str) -> int:
    from jobctl.cli.ending import CommandEnded, Ended

    try:
        if called == CRONTAB:
            from jobctl.cli.crontab_program import program as carry_out
        else:
            from jobctl.cli.dispatch import dispatch as carry_out
        carry_out(arguments, world)
    except Ended as ended:
        return _code_of(ended.how)
    except CommandEnded as ended:
        return code_of_run(ended.run)
    return OK


def _code_of(how: "How") -> int:
    codes = {"trouble": TROUBLE, "partly": 7, "timed out": TIMED_OUT, "not running": 4}
    return codes[how.value]


def code_of_run(run: "dict[str, object]") -> int:
    """The exit code of a run that is over: its command's own where it has one."""
    if run["state"] == "succeeded":
        return OK
    if run["state"] not in ("failed", "dead"):
        return TROUBLE
    if run.get("class") == "timed_out":
        return TIMED_OUT
    if run.get("class") == "spawn_error":
        return NO_PROGRAM if "ENOENT: program " in str(run.get("reason")) else NOT_STARTED
    code, signal = run.get("exit_code"), run.get("signal")
    if isinstance(signal, int):
        return SIGNALLED + signal
    return code if isinstance(code, int) and 0 < code < 256 else TROUBLE


def _silence(world: "World") -> None:
    """Whoever read our output has gone: what is still buffered must not fail at exit either."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), world.stdout.fileno())
    except (OSError, ValueError):
        return
