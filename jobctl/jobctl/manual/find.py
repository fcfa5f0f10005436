"""Where a page of the manual lies, in whatever way jobctl was installed."""

import gzip
import os
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

_SECTIONS: Final = ("1", "5", "8")
#: Of a host: where its administrator installs, and where its packages do.
_SHARED: Final = ("/usr/local/share/man", "/usr/share/man")
_LINK: Final = ".so "


class Page(NamedTuple):
    """A page: its file and what is in it, a link to another page followed."""

    path: str
    text: str


def folders() -> tuple[str, ...]:
    """Those that may have pages: of this checkout, of this environment, of this user's, of the host."""
    here = os.path.dirname(os.path.abspath(__file__))
    checkout = os.path.join(os.path.dirname(here), "..", "..", "man")
    found = [os.path.normpath(checkout)] if os.path.exists(os.path.join(checkout, "jobctl.1")) else []
    found.append(os.path.join(sys.prefix, "share", "man"))
    users = sysconfig.get_path("data", sysconfig.get_preferred_scheme("user"))
    return (*found, os.path.join(users, "share", "man"), *_SHARED)


def page(name: str, among: Iterable[str] | None = None) -> Page | None:
    """The page of a name, of the first section that has one; None where there is none."""
    places = folders() if among is None else tuple(among)
    for section in _SECTIONS:
        for path in _paths(f"{name}.{section}", places):
            text = _text(path)
            if text is None:
                continue
            if text.startswith(_LINK):  # `.so man1/jobctl-dlq.1`
                target = os.path.basename(text[len(_LINK) :].split("\n", 1)[0].strip())
                return page(target.rpartition(".")[0], places)
            return Page(path, text)
    return None


def _paths(file: str, places: Iterable[str]) -> Iterator[str]:
    """A checkout has its pages side by side, all others in folders of their sections; packages pack them."""
    folder = "man" + file.rpartition(".")[2]
    for place in places:
        for path in (os.path.join(place, folder, file), os.path.join(place, file)):
            yield path
            yield path + ".gz"


def _text(path: str) -> str | None:
    try:
        with gzip.open(path, "rb") if path.endswith(".gz") else open(path, "rb") as file:
            return file.read().decode("utf-8")
    except (OSError, EOFError, UnicodeDecodeError):
        return None
