"""What the operator can set: one frozen tree, checked whole before anything starts (jobd.toml, jobd(8))."""

import difflib
import os
import re
import tomllib
from collections.abc import Mapping

import msgspec

from jobctl.errors import InvalidInput
from jobctl_daemon.auditlog import SOCKET

#: Descriptors of jobd and the runner that are not slots: database, sockets, logs, pipes of the interpreter.
RESERVED_DESCRIPTORS = 128


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The keys of jobd.toml and their defaults."""

    slots: int = 512
    """Commands that may run at once."""
    runners: int = 2
    log_level: str = "info"
    retention_days: int = 90
    retention_runs: int = 1000
    """Finished runs kept of each job."""
    retention_adhoc_runs: int = 100_000
    """Finished ad-hoc runs kept of all together."""
    retention_log_bytes: int = 1_000_000_000
    owner_jobs: int = 1_000_000
    """Jobs of one owner."""
    owner_runs: int = 100_000
    """Runs of one owner that have not started; more are not taken."""
    low_disk_bytes: int = 64_000_000
    """With less free on the disk of the state folder, at most a 20th of it, new work waits."""
    syslog: str = "auto"
    """Whether starts are told to the system's log as cron does: on, off; auto: where the daemon is root's."""
    syslog_socket: str = SOCKET
    crontabs: str = "auto"
    """Whether crontabs are run as they stand: on, off; auto: in a user's daemon, and once the host was taken over."""
    host_root: str = "/"
    """The folder in which the host's etc and var are, for crontabs. Read at the start only."""
    crontab_mail: str = "output"
    """When the runs of crontab lines are mailed: output, failure, never."""
    sendmail: str = ""
    """The program that takes mail; empty: the one that is found."""
    echo: str = "auto"
    """What commands print, on the standard output of the daemon too: auto, off, lines, plain or json."""
    admin_group: str = "jobctl"
    """Who is in it operates root's daemon for everybody; empty: root alone."""
    pass_env: tuple[str, ...] = ()
    """Names of the daemon's own environment that every command gets."""
    strict_files: bool = False
    """Nothing is run that somebody else than root and the user it runs as can change."""


_BOUNDS = {
    "slots": (1, 100_000),
    "runners": (1, 16),
    "retention_days": (1, 36_500),
    "retention_runs": (1, 1_000_000),
    "retention_adhoc_runs": (1, 100_000_000),
    "retention_log_bytes": (1_000_000, 1 << 50),
    "owner_jobs": (1, 100_000_000),
    "owner_runs": (1, 10_000_000),
    "low_disk_bytes": (0, 1 << 50),
}
#: auto: `lines` as the first process of a container, else off.
ECHOES = ("auto", "off", "lines", "plain", "json")
_GROUP = re.compile(r"[^\s:,\x00-\x1f]{0,255}")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_OF_THE_USER = frozenset({"HOME", "LOGNAME", "USER", "SHELL"})
_WORDS = {
    "log_level": ("debug", "info", "warning", "error"),
    "syslog": ("auto", "on", "off"),
    "crontab_mail": ("output", "failure", "never"),
    "crontabs": ("auto", "on", "off"),
}
_PATHS = ("syslog_socket", "sendmail", "host_root")


def read(path: str) -> Settings:
    """The settings of the file; all defaults where there is none.

    Raises `InvalidInput` that names the file, the key, what was expected and what was found.
    """
    try:
        with open(path, "rb") as file:
            table = tomllib.load(file)
    except FileNotFoundError:
        return Settings()
    except PermissionError as error:
        hint = "JOBCTL_HOME and XDG_CONFIG_HOME must be folders of your own"
        raise InvalidInput(f"{path}: this user may not look there", hint) from error
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{path} cannot be read: {error}", "mend the file, or move it away") from error
    return checked(table, path)


def checked(table: dict[str, object], path: str) -> Settings:
    """The settings of a parsed table."""
    known = Settings.__struct_fields__
    for key in table:
        if key not in known:
            near = difflib.get_close_matches(key, known, 1)
            hint = f"did you mean `{near[0]}`?" if near else f"known keys: {', '.join(known)}"
            raise InvalidInput(f"{path}: there is no key `{key}`", hint, field=key)
    try:
        settings = msgspec.convert(table, Settings)
    except msgspec.ValidationError as error:
        raise InvalidInput(f"{path}: {error}", "see jobd(8)") from error
    _check_values(settings, path)
    return settings


def _check_values(settings: Settings, path: str) -> None:
    for key, (low, high) in _BOUNDS.items():
        value = getattr(settings, key)
        if not low <= value <= high:
            raise InvalidInput(f"{path}: `{key}` is {value}", f"it goes from {low} to {high}", field=key)
    for key, words in _WORDS.items():
        if (word := getattr(settings, key)) not in words:
            raise InvalidInput(f"{path}: `{key}` is {word!r}", f"one of {', '.join(words)}", field=key)
    for key in _PATHS:
        if (place := getattr(settings, key)) and not os.path.isabs(place):
            raise InvalidInput(f"{path}: `{key}` is {place!r}", "an absolute path", field=key)
    if settings.echo not in ECHOES:
        echoes = ", ".join(ECHOES)
        raise InvalidInput(f"{path}: `echo` is {settings.echo!r}", f"one of {echoes}", field="echo")
    if not _GROUP.fullmatch(settings.admin_group):
        hint = 'the name of a group; "" when root alone is to operate the daemon'
        raise InvalidInput(f"{path}: `admin_group` is {settings.admin_group!r}", hint, field="admin_group")
    _check_names(settings.pass_env, path)


def _check_names(names: tuple[str, ...], path: str) -> None:
    for name in names:
        if not _NAME.fullmatch(name):
            raise InvalidInput(
                f"{path}: `pass_env` holds {name!r}, which is no name of a variable",
                'a list of names: pass_env = ["DATABASE_URL"]',
                field="pass_env",
            )
        if name in _OF_THE_USER or name.startswith("JOBCTL_"):
            raise InvalidInput(
                f"{path}: `pass_env` holds {name}, which jobd sets for every command itself",
                "take the name out",
                field="pass_env",
            )


def passed_environment(wanted: Settings, environ: Mapping[str, str], path: str) -> dict[str, str]:
    """The variables that `pass_env` names. `InvalidInput` for one that is not there: a command that needs it would
    run with an empty one."""
    for name in wanted.pass_env:
        if name not in environ:
            raise InvalidInput(
                f"{path}: `pass_env` names {name}, which is not in the environment of jobd",
                f"start jobd with {name} set, or take the name out",
                field="pass_env",
            )
    return {name: environ[name] for name in wanted.pass_env}


def tells_syslog(settings: Settings, *, root: bool) -> bool:
    """Whether cron's lines are written."""
    return settings.syslog == "on" or (settings.syslog == "auto" and root)


def slots_possible(settings: Settings, descriptors: int, processes: int) -> int:
    """The slots, bounded by what the descriptor and process limits allow (-1: unlimited).

    A running command holds a pidfd in its runner, and one process of the user's at the least.
    """
    bounds = [settings.slots]
    if descriptors > 0:
        bounds.append((descriptors - RESERVED_DESCRIPTORS) * settings.runners)
    if processes > 0:
        bounds.append(processes // 2)
    return max(1, min(bounds))


def login_path(root: bool, path: str = "/etc/login.defs") -> str:
    """The host's login PATH: ENV_SUPATH or ENV_PATH of login.defs(5), else the usual folders."""
    wanted = "ENV_SUPATH" if root else "ENV_PATH"
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            for line in file:
                name, _, value = line.strip().partition("PATH=")
                if name.split() == [wanted]:
                    return value.strip()
    except OSError:
        pass
    places = ["/usr/local/bin", "/usr/bin", "/bin"]
    system = ["/usr/local/sbin", "/usr/sbin", "/sbin"]
    return os.pathsep.join([*system, *places] if root else places)
