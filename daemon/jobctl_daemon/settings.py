"""What the operator can set: one frozen tree, checked whole before anything starts (jobd.toml, jobd(8))."""

import difflib
import os
import tomllib

import msgspec

from jobctl.errors import InvalidInput

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
_LEVELS = ("debug", "info", "warning", "error")


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
    if settings.log_level not in _LEVELS:
        levels = ", ".join(_LEVELS)
        raise InvalidInput(f"{path}: `log_level` is {settings.log_level!r}", f"one of {levels}", field="log_level")


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
