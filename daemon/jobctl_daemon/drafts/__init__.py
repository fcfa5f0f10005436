"""From what a caller sends to a checked, complete definition. Pure: time and what is true of the host are passed in.

Every limit on what a job may say is here; what holds where it says nothing is in `jobctl.defaults`.
All errors are `InvalidInput` with the field and what to do.
"""

from jobctl_daemon.drafts.changes import changes
from jobctl_daemon.drafts.circumstances import Circumstances
from jobctl_daemon.drafts.edit import checked_edit
from jobctl_daemon.drafts.job import Checked, checked_job, checked_run
from jobctl_daemon.drafts.merge import merged
from jobctl_daemon.drafts.names import made_name, numbered
from jobctl_daemon.drafts.place import checked_queue
from jobctl_daemon.drafts.when import after_of, checked_schedule, due_at

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
