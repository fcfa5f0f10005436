"""Where things are, and what they are called."""

import os
import platform
import re
from pathlib import Path
from typing import Final

CHECKOUT: Final = Path(__file__).resolve().parents[2]
HERE: Final = CHECKOUT / "packaging" / "bundle"
PINS: Final = HERE / "pins.txt"

_VERSION: Final = re.compile(r'^__version__ = "([^"]+)"$', re.MULTILINE)


def version() -> str:
    """From the one place that has it."""
    found = _VERSION.search((CHECKOUT / "jobctl/jobctl/__init__.py").read_text())
    assert found is not None, "jobctl/jobctl/__init__.py has no __version__"
    return found[1]


def name() -> str:
    """Of the one file, and of its tree with `.tree` behind it."""
    return f"jobctl-{version()}-linux-{platform.machine()}"


def epoch() -> int:
    """The time that everything made here bears: SOURCE_DATE_EPOCH, else that of the last commit, else a fixed one."""
    from bundle.run import output

    given = os.environ.get("SOURCE_DATE_EPOCH")
    if given:
        return int(given)
    if (CHECKOUT / ".git").exists():
        return int(output("git", "-c", "safe.directory=*", "-C", CHECKOUT, "log", "-1", "--format=%ct"))
    return 1_577_836_800
