"""The program of this host that takes mail: sendmail(8), of whichever mail transport."""

import os
from typing import Final

#: Where Debian's cron, and all other systems, have it. No user's PATH is looked through: what is found is looked at
#: with the daemon's rights.
PLACES: Final = ("/usr/sbin/sendmail", "/usr/lib/sendmail", "/usr/bin/sendmail", "/usr/local/sbin/sendmail")


def mail_program(wanted: str) -> str | None:
    """Its path: the one of the settings, else where it is found; None where there is none."""
    return next((path for path in ([wanted] if wanted else PLACES) if _is_program(path)), None)


def _is_program(path: str) -> bool:
    return os.path.isfile(path) and os.access(path, os.X_OK)
