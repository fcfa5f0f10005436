"""What `jobctl doctor` looks at. Each check returns findings and never raises for what it finds."""

import os
import stat
from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple

from jobctl import __version__
from jobctl.cli import describe
from jobctl.cli.beside_cron import beside_cron, live_lines
from jobctl.cli.session import Session
from jobctl.cli.weakness import weak_points
from jobctl.errors import JobctlError, NotFound

NO_DAEMON: Final = "daemon"
BAD: Final = "bad"
WARN: Final = "warn"
_SBIN: Final = "/usr/sbin:/usr/bin:/sbin:/bin"
#: Below the first the daemon refuses new work, on a small filesystem below the share (docs/operations.md, "Disk full").
_DISK_BYTES_MIN: Final = 64_000_000
_DISK_PART_MIN: Final = 0.05
#: So many times as much is little.
_DISK_LITTLE: Final = 4
_SKEW_MS_MAX: Final = 2_000
_NAMED_MAX: Final = 5
_SYNCHRONISE: Final = "let a time service set it: timedatectl set-ntp true, or chrony"


class Finding(NamedTuple):
    """`level` is ok, note, warn or bad, and only the last is a failure; the hint says what to do."""

    check: str
    level: str
    text: str
    hint: str = ""


def examine(session: Session, *, deep: bool = False) -> list[Finding]:
    """All checks; those that need the daemon only when it answers. `deep`: it also reads all of its database."""
    try:
        status = session.reader().status()
    except JobctlError as error:
        why = str(error.details.get("why", error.message))
        return [Finding(NO_DAEMON, BAD, f"no daemon answers: {why}", error.hint), *_alone(session), *_path(session)]
    jobs = list(session.reader().jobs(done=None))
    return [
        Finding("daemon", "ok", f"answers at {status['socket']}, pid {status['pid']}"),
        *_version(status),
        *_clock(session, status),
        *_zone(status),
        *_folder(status),
        *_disk(status),
        *_daemons_own(session, deep),
        *_reboot(status),
        *_services(status),
        *_job_states(status),
        *_telling(session, status, jobs),
        *_commands(session, jobs),
        *_weak(session, jobs),
        *_doubles(session, status, jobs),
        *_path(session),
    ]


def _alone(session: Session) -> Iterator[Finding]:
    """What can be seen of the user's own daemon from outside. Its database is not opened."""
    from jobctl.paths import daemon_places

    own = daemon_places(session.world.environ, session.world.uid)
    if session.places.named or not os.path.isdir(own.state_dir):
        return
    yield from _folder({"state_dir": own.state_dir})
    try:
        names = os.listdir(own.state_dir)
        strangers = [name for name in names if os.lstat(os.path.join(own.state_dir, name)).st_uid != session.world.uid]
    except OSError as error:
        yield Finding("files", BAD, f"cannot look into {own.state_dir}: {error.strerror}")
        return
    if strangers and session.world.uid:
        text = f"{', '.join(sorted(strangers)[:_NAMED_MAX])} in {own.state_dir} belong to somebody else"
        yield Finding("files", BAD, text, f"as root: chown -R {session.world.uid} {own.state_dir}")
    if "restore.json" in names:
        text = "a restore was interrupted; the next start, or another restore, carries it through"
        yield Finding("restore", WARN, text, "jobctl daemon start")


def _version(status: dict[str, Any]) -> Iterator[Finding]:
    if status["version"] == __version__:
        yield Finding("version", "ok", f"{__version__}, client and daemon")
    else:
        text = f"this program is {__version__}, the daemon {status['version']}"
        yield Finding("version", "note", text, "restart it: jobctl daemon stop; jobctl daemon start; commands go on")


def _clock(session: Session, status: dict[str, Any]) -> Iterator[Finding]:
    from jobctl.reading.times import milliseconds

    skew_ms = abs(milliseconds(status["now"]) - session.world.clock.now_ms())
    if skew_ms > _SKEW_MS_MAX:
        yield Finding(
            "clock", BAD, f"the daemon's clock is {skew_ms / 1000:.1f} s away from this one", "is it overloaded?"
        )
    elif (status.get("clock") or {}).get("synchronised") is False:
        yield Finding("clock", WARN, "the host's clock is not synchronised: times may be wrong, and jump", _SYNCHRONISE)
    else:
        yield Finding("clock", "ok", "the daemon and this program see the same time")


def _zone(status: dict[str, Any]) -> Iterator[Finding]:
    text = f"{status['timezone']}, from {status['timezone_from']}; tzdata {status['tzdata']}"
    if str(status["timezone_from"]).startswith("default"):
        yield Finding("zone", "note", text, "set the host's zone: timedatectl set-timezone, or link /etc/localtime")
    else:
        yield Finding("zone", "ok", text)


def _folder(status: dict[str, Any]) -> Iterator[Finding]:
    folder = str(status["state_dir"])
    try:
        mode = stat.S_IMODE(os.stat(folder).st_mode)
    except OSError as error:
        yield Finding("permissions", "note", f"cannot look at {folder}: {error.strerror}")
        return
    if mode & 0o077:
        yield Finding("permissions", BAD, f"{folder} is open to others, mode {mode:04o}", f"chmod 700 {folder}")
    else:
        yield Finding("permissions", "ok", f"{folder} is closed to others")


def _disk(status: dict[str, Any]) -> Iterator[Finding]:
    try:
        disk = os.statvfs(str(status["state_dir"]))
    except OSError:
        return
    free, total = disk.f_bavail * disk.f_frsize, max(1, disk.f_blocks * disk.f_frsize)
    size = status["database_bytes"]  # not everybody is told
    database = "" if size is None else f"; database {describe.size(size)}"
    level = disk_level(free, total)
    text = f"{describe.size(free)} free ({free / total:.0%}) at {status['state_dir']}{database}"
    yield Finding("disk", level, text, "" if level == "ok" else "free some room: a full disk stops new runs")


def disk_level(free: int, total: int) -> str:
    """Of bytes that are free on a filesystem: bad where new work is refused by default, warn where that is near."""
    low = min(_DISK_BYTES_MIN, int(total * _DISK_PART_MIN))
    return BAD if free < low else "warn" if free < low * _DISK_LITTLE or free < total * _DISK_PART_MIN else "ok"


def _daemons_own(session: Session, deep: bool) -> Iterator[Finding]:
    """What the daemon finds in its own files; one of an older version has nothing to say."""
    try:
        found = session.reader().doctor(deep=deep)
    except NotFound:
        yield Finding("records", "note", "the daemon is too old to look at its records", "restart it")
        return
    for one in found:
        yield Finding(one["check"], one["level"], one["text"], one["hint"])


def _reboot(status: dict[str, Any]) -> Iterator[Finding]:
    why = str(status["returns_after_reboot_why"] or "")
    if status["returns_after_reboot"]:
        yield Finding("reboot", "ok", f"the daemon comes back: {why}" if why else "the daemon comes back")
    else:
        level = BAD if _can_return() else WARN
        yield Finding("reboot", level, "the daemon does not come back after a reboot or logout", why)


def _can_return() -> bool:
    """Whether there is anything on this host that could start it: without, nobody can do better."""
    from shutil import which

    return os.path.isdir("/run/systemd/system") or any(which(name, path=_SBIN) for name in ("cron", "crond"))


def _services(status: dict[str, Any]) -> Iterator[Finding]:
    failing = {name: service["error"] for name, service in status["services"].items() if service.get("error")}
    for name, error in failing.items():
        yield Finding("service", BAD, f"{name}: {error}", "see jobd.log in the state folder")
    for text in status["warnings"]:
        yield Finding("daemon", BAD, str(text))


def _job_states(status: dict[str, Any]) -> Iterator[Finding]:
    for word in ("failed", "parked"):
        if status["jobs"][word]:
            yield Finding("jobs", BAD, f"{status['jobs'][word]} {word}", f"jobctl ls --state {word}")
    if status.get("quarantined"):
        text = f"{status['quarantined']} quarantined after too many dead letters in a row"
        yield Finding("jobs", BAD, text, "jobctl ls --state quarantined; jobctl resume JOB")
    if status.get("skipping"):
        yield Finding("jobs", WARN, f"{status['skipping']} skipped again and again", "jobctl ls --state skipping")
    dead = status.get("dead") or {}
    if dead.get("total"):
        yield Finding("dead letters", WARN, f"{dead['total']} to be replayed or given up", "jobctl dlq ls")


def _telling(session: Session, status: dict[str, Any], jobs: Iterable[dict[str, Any]]) -> Iterator[Finding]:
    """Whether anybody hears of failures, and could."""
    from jobctl.cli.slips import has_sendmail, tells_by_mail

    mailing = [job["name"] for job in jobs if tells_by_mail(job.get("notify"))]
    if mailing and not has_sendmail(session.world.environ):
        text = f"{', '.join(mailing[:_NAMED_MAX])} would tell by mail, and there is no sendmail on this host"
        yield Finding("notify", BAD, text, "install one, or jobctl edit JOB --notify exec:COMMAND")
    if status.get("untold"):
        text = f"{status['untold']} of {status['jobs']['total']} jobs tell nobody when they fail"
        yield Finding("notify", "note", text, "jobctl edit JOB --notify mail, or exec:COMMAND; or notify in its file")


def _commands(session: Session, jobs: Iterable[dict[str, Any]]) -> Iterator[Finding]:
    """Programs that are not there. Only those this user can judge: absolute paths, and names on PATH."""
    from shutil import which

    missing, lines = [], 0
    for job in jobs:
        command = job["target"].get("command")
        lines += not command
        if command and not which(command[0], path=session.world.environ.get("PATH")):
            missing.append(f"{job['name']}: {command[0]}")
    for text in missing:
        yield Finding("command", BAD, f"not found or not executable: {text}", "correct the path, or install it")
    if not missing:
        unseen = f"; lines for a shell ({lines}) were not looked into" if lines else ""
        yield Finding("command", "ok", f"the programs that jobs name are there{unseen}")


def _weak(session: Session, jobs: Iterable[dict[str, Any]]) -> Iterator[Finding]:
    """Files of jobs that run as the caller, and that somebody else can change."""
    found = [(job["name"], point) for job in jobs for point in weak_points(session, job)]
    for name, point in found:
        hint = "give it to root (or whom it runs as), and take the right away: chown, chmod go-w"
        yield Finding("trust", WARN, f"{name} runs what others can change: {point}", hint)
    if not found:
        yield Finding("trust", "ok", "nobody else can change the programs of your jobs, as far as one can see")


def _doubles(session: Session, status: dict[str, Any], jobs: list[dict[str, Any]]) -> Iterator[Finding]:
    """Jobs whose line is still active in a crontab, and a cron beside a daemon that runs the host's tables: both would
    run."""
    from jobctl.crontabs.doubles import find_doubles
    from jobctl.crontabs.survey import known_tables
    from jobctl.crontabs.users import name_of_uid

    world = session.world
    caller = name_of_uid(world.uid)
    found = find_doubles(known_tables(world.environ, caller, world.uid), jobs, caller=caller) if jobs else []
    live = live_lines(status) is not None
    for double in found:
        text = f"{double.job} is also active in {double.path}, line {double.line}: it runs twice"
        hint = "remove one: jobctl rm JOB, or the line" if live else "jobctl import crontab --apply"
        yield Finding("double", BAD, text, hint)
    beside = beside_cron(session, status)
    for one in beside:
        yield Finding("cron", BAD if one.bad else WARN, one.text, one.hint)
    if live and not beside:
        yield Finding("cron", "ok", "jobd runs the crontabs of this host, and no cron does")
    if not found:
        yield Finding("double", "ok", "no job is also active in a crontab that can be read")


def _path(session: Session) -> Iterator[Finding]:
    from shutil import which

    missing = [name for name in ("jobctl", "jobd") if which(name, path=session.world.environ.get("PATH")) is None]
    if missing:
        yield Finding("path", "note", f"{' and '.join(missing)} not on PATH", "add the folder of jobctl to PATH")
    else:
        yield Finding("path", "ok", "jobctl and jobd are on PATH")
