"""What a definition is likely to mean otherwise than it says: warnings, never refusals.

The paths are looked at as this user and now; the job may run as another and later.
"""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from shlex import quote
from shutil import which
from typing import Any, Final

from jobctl.defaults import ADD

_OPERATORS: Final = frozenset(("|", "||", "&&", ";", "&", ">", ">>", "<", "<<", "2>", "2>&1", "&>"))
_OF_SHELLS: Final = re.compile(r"[\s|&;<>()$`\"'*?\[\]#]")
_BUILTINS: Final = frozenset(
    (".", ":", "alias", "bg", "cd", "eval", "exec", "exit", "export", "fg", "jobs", "let", "local", "read", "return",
     "set", "shift", "source", "trap", "ulimit", "umask", "unalias", "unset", "wait")
)  # fmt: skip
_ASSIGNMENT: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=.*", re.DOTALL)
_CLOCK: Final = re.compile(
    r"(?:^|[\sTt])([0-9]{1,2}):([0-9]{2})(?::[0-9]{2})?(?:\s+([A-Za-z_]+/[A-Za-z0-9_+/-]+|UTC|GMT))?$"
)
_FIRES: Final = 50
#: 2^40 times the shortest delay is longer than any cap.
_DOUBLINGS_MAX: Final = 40
_SENDMAIL: Final = "/usr/sbin:/usr/lib"
_ROOT_PATH: Final = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_USER_PATH: Final = "/usr/local/bin:/usr/bin:/bin"

Body = Mapping[str, Any]


def slips(body: Body, *, uid: int, environ: Mapping[str, str]) -> list[str]:
    """One sentence for each thing that cannot work, or not as it reads. `body` is a JobDraft or a RunDraft."""
    home = _home(body, uid, environ)
    found = [*_missing_files(body)]
    command = body["target"].get("command")
    if command:
        path = body.get("env", {}).get("PATH") or _login_path(uid)
        found += _of_command(command, folder=body.get("cwd") or home, path=path, in_home=not body.get("cwd"))
    plan = body.get("schedule") or {}
    return [*found, *_jitter(plan), *_waits(body, plan), *_untold(body), *no_mail(body, environ)]


def _of_command(command: Sequence[str], *, folder: str, path: str, in_home: bool) -> Iterator[str]:
    """Of the exec form. The first thing that is wrong with the program; then its words."""
    program = command[0]
    as_line = f"for a shell: --shell {quote(' '.join(command))}"
    where = "HOME" if in_home else "--cwd"
    if _ASSIGNMENT.fullmatch(program) and len(command) > 1:
        yield f"{program!r} is the program here, not a variable: --env {quote(program)} sets one; {as_line}"
    elif program in _BUILTINS:
        yield f"{program} is a word of the shell, and there is no shell: {as_line}"
    elif program.startswith("~"):
        yield f"~ means nothing without a shell: write the whole path of {program}"
    elif "/" in program and not program.startswith("/"):
        whole = os.path.normpath(os.path.join(folder, program))
        state = "" if _runs(whole) else ", which is not an executable file now"
        yield f"{program} is looked for from {where}, as {whole}{state}"
    elif program.startswith("/") and not _runs(program):
        is_line = f"; {as_line}" if len(command) == 1 and _OF_SHELLS.search(program) else ""
        yield f"{program} {'is not executable' if os.path.exists(program) else 'does not exist'}{is_line}"
    elif not program.startswith("/") and which(program, path=path) is None:
        if _OF_SHELLS.search(program):
            yield f"{program!r} is one word, the name of a program that does not exist; {as_line}"
        else:
            yield f"there is no program {program} on the PATH of the job ({path}): write its whole path"
    operators = [word for word in command[1:] if word in _OPERATORS]
    if operators and program not in _BUILTINS:
        yield f"{operators[0]} is an argument of {program} here, there is no shell: {as_line}"
    elsewhere = os.path.realpath(os.curdir) != os.path.realpath(folder)
    for word in command[1:]:
        if elsewhere and not word.startswith(("/", "-")) and os.path.isfile(word):
            yield f"{word} is here, but the command runs in {where} ({folder}): write the whole path, or --cwd"


def _runs(path: str) -> bool:
    return os.path.isfile(path) and os.access(path, os.X_OK)


def _missing_files(body: Body) -> Iterator[str]:
    for option, field in (("--env-file", "env_file"), ("--payload", "payload_ref")):
        if body.get(field) and not os.path.exists(body[field]):
            yield f"{option}: {body[field]} does not exist now; a run without it does not start"
    if body.get("cwd") and not os.path.isdir(body["cwd"]):
        yield f"--cwd: {body['cwd']} is no folder now; a run without it does not start"


def _jitter(plan: Body) -> Iterator[str]:
    """A delay longer than the interval lets starts overtake each other."""
    if not plan.get("jitter"):
        return
    from jobctl.errors import InvalidInput
    from jobctl.schedule import parse_duration

    try:
        jitter_ms, interval_ms = parse_duration(str(plan["jitter"])), _interval_ms(plan)
    except InvalidInput:
        return  # the daemon says what is wrong with it
    if interval_ms is not None and jitter_ms > interval_ms:
        yield f"--jitter {plan['jitter']} is longer than the time between two starts: they may come in any order"


def _waits(body: Body, plan: Body) -> Iterator[str]:
    """A retry that waits is an active run: under skip, starts that come meanwhile are left out."""
    from jobctl.errors import InvalidInput
    from jobctl.schedule import format_duration, parse_duration

    retry = body.get("retry") or {}
    retries = ADD.retries if retry.get("max") is None else retry["max"]
    if retries < 1 or (body.get("overlap") or ADD.overlap) != "skip" or (body.get("limit") or 1) > 1:
        return
    try:
        base_ms = parse_duration(retry["backoff"]) if retry.get("backoff") else ADD.backoff_ms
        cap_ms = parse_duration(retry["backoff_max"]) if retry.get("backoff_max") else ADD.backoff_max_ms
        interval_ms = _interval_ms(plan)
    except InvalidInput:
        return  # the daemon says what is wrong with it
    longest_ms = min(max(cap_ms, base_ms), base_ms << min(retries - 1, _DOUBLINGS_MAX))
    if interval_ms is not None and longest_ms > interval_ms:
        yield (
            f"a retry may wait {format_duration(longest_ms)}, longer than the {format_duration(interval_ms)} between "
            "two starts: starts that come meanwhile are skipped (--overlap skip)"
        )


def _untold(body: Body) -> Iterator[str]:
    if body.get("on_failure") == "record" and not body.get("notify"):
        yield (
            "nobody will know when it fails: it keeps no dead letter and tells nobody; "
            "give --notify mail, or leave --on-failure at dead"
        )


def no_mail(body: Body, environ: Mapping[str, str]) -> Iterator[str]:
    """Mail that nobody on this host would send."""
    mail = tells_by_mail(body.get("notify"))
    if mail and not has_sendmail(environ):
        yield (
            f"--notify {mail}: there is no sendmail on this host, in /usr/sbin or on PATH: nothing can be sent; "
            "install one, or use --notify exec:COMMAND"
        )


def tells_by_mail(destinations: Sequence[str] | None) -> str | None:
    """The first destination that needs sendmail."""
    return next((way for way in destinations or () if way.partition(":")[0] == "mail"), None)


def has_sendmail(environ: Mapping[str, str]) -> bool:
    """Where the daemon looks for it: on PATH, and where it always was."""
    return which("sendmail", path=f"{_SENDMAIL}:{environ.get('PATH', '')}") is not None


def _interval_ms(plan: Body) -> int | None:
    """The time between two starts; of an expression, the shortest of a few."""
    from itertools import islice, pairwise

    from jobctl.schedule import Cron, parse_duration

    if plan.get("every"):
        return parse_duration(str(plan["every"]))
    if not plan.get("cron") or plan["cron"] == "@reboot":
        return None
    fires = [fire.at_ms for fire in islice(Cron(plan["cron"], "UTC").fires(0, None), _FIRES)]
    return min((after - before for before, after in pairwise(fires)), default=None)


def clock_change(text: str, at_ms: int, zone: str) -> list[str]:
    """What `--at TEXT` became where the clock skips that time or shows it twice."""
    match = _CLOCK.search(text.strip())
    if match is None:
        return []  # with an offset, or a duration
    from datetime import datetime

    from jobctl.schedule import find_zone

    name = match[3] or zone
    local = datetime.fromtimestamp(at_ms // 1000, find_zone(name))
    if (local.hour, local.minute) != (int(match[1]), int(match[2])):
        return [f"the clock of {name} skips {match[1]}:{match[2]} that day: it runs at {local:%H:%M} {local.tzname()}"]
    if local.replace(fold=1).utcoffset() != local.replace(fold=0).utcoffset():
        first = f"it runs the first time, {local.tzname()}"
        return [f"the clock of {name} shows {match[1]}:{match[2]} twice that day: {first}"]
    return []


def _home(body: Body, uid: int, environ: Mapping[str, str]) -> str:
    import pwd

    try:
        return (pwd.getpwnam(body["user"]) if body.get("user") else pwd.getpwuid(uid)).pw_dir
    except KeyError:
        return environ.get("HOME", "/")


def _login_path(uid: int) -> str:
    """What the daemon gives its commands: that of a login on this host."""
    name = "ENV_SUPATH" if uid == 0 else "ENV_PATH"
    try:
        with open("/etc/login.defs", encoding="utf-8", errors="replace") as file:
            words = [line.split() for line in file]
    except OSError:
        words = []
    found = [word[1].removeprefix("PATH=") for word in words if len(word) == 2 and word[0] == name]
    return found[0] if found else _ROOT_PATH if uid == 0 else _USER_PATH
