"""Changes of a definition that is stored; the rules for what a caller sends are in `jobctl.drafts`."""

from jobctl.drafts import (
    Checked,
    Circumstances,
    after_of,
    checked_job,
    checked_queue,
    checked_run,
    checked_schedule,
    due_at,
    made_name,
    numbered,
)
from jobctl_daemon.drafts.changes import changes
from jobctl_daemon.drafts.edit import checked_edit
from jobctl_daemon.drafts.merge import merged

__all__ = [
    "Checked",
    "Circumstances",
    "after_of",
    "changes",
    "checked_edit",
    "checked_job",
    "checked_queue",
    "checked_run",
    "checked_schedule",
    "due_at",
    "made_name",
    "merged",
    "numbered",
]
