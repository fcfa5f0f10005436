"""Where a job that a file declares comes from, and how it is changed."""

from collections.abc import Mapping
from typing import Any

from jobctl.reading.safe import cell


def place(job: Mapping[str, Any]) -> str:
    """`/etc/jobctl/jobs.d/web.toml`, `/etc/crontab, line 7`; made safe."""
    kind, _, rest = str(job["source"]).partition(":")
    declared = str(job["declared"])
    parts = rest.split(":", 2)
    if kind != "crontab" or len(parts) != 3:
        return cell(declared)
    return cell(parts[2] if parts[1] == "0" else f"{declared}, line {parts[1]}")  # 0: a script of a folder


def way(job: Mapping[str, Any]) -> str:
    """How its file is changed."""
    if str(job["declared"]).endswith(f"/crontabs/{job['owner']}"):
        return "change it with jobctl crontab -e"
    crontab = str(job["source"]).startswith("crontab:")
    return "edit it there" if crontab else "edit it there; jobctl diff shows what changes"
