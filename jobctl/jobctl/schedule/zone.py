"""Zones by IANA name: looking them up, the host's own, and which tz database is in use."""

import contextlib
import os
import re
import zoneinfo
from collections.abc import Iterator
from functools import lru_cache
from importlib import import_module
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from jobctl.errors import InvalidInput

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_+-]*(?:/[A-Za-z0-9_+-]+)*")
_MAX_NAME = 64
# Files beside the zones: the host's own choice under another name, a placeholder, and clocks with leap seconds.
_NOT_ZONES = ("localtime", "posixrules", "Factory", "posix/", "right/")


def find_zone(name: str) -> ZoneInfo:
    """The zone of an IANA name, such as `Europe/Berlin`.

    Raises `InvalidInput` with the nearest names as the hint. Paths, `..` and absolute names are never opened.
    """
    if len(name) <= _MAX_NAME and _NAME.fullmatch(name) and not name.startswith(_NOT_ZONES):
        try:
            return ZoneInfo(name)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            pass
    raise InvalidInput(f"there is no time zone {name[:_MAX_NAME]!a}", _nearest(name), field="timezone")


def _nearest(name: str) -> str:
    from .near_zones import near

    like = near(name[:_MAX_NAME], _known_zones())
    return f"Did you mean {' or '.join(like)}?" if like else "Use an IANA name, such as Europe/Berlin or UTC."


@lru_cache(maxsize=1)
def _known_zones() -> tuple[str, ...]:
    return tuple(sorted(name for name in zoneinfo.available_timezones() if not name.startswith(_NOT_ZONES)))


def host_zone(root: str = "/") -> tuple[str, str]:
    """(IANA name, where it was found) of the host: `/etc/localtime`, `/etc/timezone` or `default UTC`.

    Never from `TZ`, which belongs to one shell and not to the host. Does not raise.
    """
    for source, name in (
        ("/etc/localtime", _linked_zone(os.path.join(root, "etc/localtime"))),
        ("/etc/timezone", _written_zone(os.path.join(root, "etc/timezone"))),
    ):
        if name is not None and _is_zone(name):
            return name, source
    return "UTC", "default UTC"


def _linked_zone(path: str) -> str | None:
    """The zone a link points at. The nearest link first, because aliases are links too (Kiev to Kyiv)."""
    try:
        targets = (os.readlink(path), os.path.realpath(path))
    except OSError:
        return None
    for target in targets:
        name = target.rpartition("zoneinfo/")[2] if "zoneinfo/" in target else ""
        if name:
            return name.removeprefix("posix/")
    return None


def _written_zone(path: str) -> str | None:
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            return file.readline(256).strip() or None
    except OSError:
        return None


def _is_zone(name: str) -> bool:
    try:
        find_zone(name)
    except InvalidInput:
        return False
    return True


def tzdata_version() -> str:
    """The release of the tz database in use, such as `2026b`; `unknown` when the host does not say.

    zoneinfo looks in the host's folders first and in the `tzdata` package last, and so does this.
    """
    for folder in zoneinfo.TZPATH:
        if os.path.isfile(os.path.join(folder, "Etc/UTC")):
            return _stated_version(folder)
    try:
        return str(import_module("tzdata").IANA_VERSION)
    except (ImportError, AttributeError):
        return "unknown"


def tzdata_mark() -> str:
    """The release, and a digest of names, sizes and times of all zone files: another one when any of them changed.

    A host may get other rules under the same release, and one without a statement of its release gets them too.
    """
    import hashlib

    found = [f"{path} {size} {changed}" for folder in zoneinfo.TZPATH for path, size, changed in _files(folder)]
    digest = hashlib.sha256("\n".join(sorted(found)).encode("utf-8", "surrogateescape")).hexdigest()[:12]
    return f"{tzdata_version()} {digest}"


def _files(folder: str) -> Iterator[tuple[str, int, int]]:
    """(path, size, change in ns) of the zones below a folder, but not of what is beside them."""
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if f"{name}/" not in _NOT_ZONES]
        for name in names:
            path = os.path.join(place, name)
            with contextlib.suppress(OSError):
                facts = os.stat(path)
                yield path, facts.st_size, facts.st_mtime_ns


def _stated_version(folder: str) -> str:
    for name in ("tzdata.zi", "+VERSION"):
        try:
            with open(os.path.join(folder, name), encoding="ascii", errors="replace") as file:
                return file.readline(64).removeprefix("# version").strip() or "unknown"
        except OSError:
            continue
    return "unknown"
