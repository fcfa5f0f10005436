"""From what a caller sends to a checked, complete definition. Pure: time and what is true of the host are passed in.

Every default of `jobctl add` is here (design/execution.md, "Defaults"), and every limit on what a job may say.
All errors are `InvalidInput` with the field and what to do.
"""

from jobctl_daemon.drafts.circumstances import Circumstances
from jobctl_daemon.drafts.job import Checked, checked_job, checked_run
from jobctl_daemon.drafts.names import made_name, numbered
from jobctl_daemon.drafts.when import checked_schedule, due_at

__all__ = [
    "Checked",
    "Circumstances",
    "checked_job",
    "checked_run",
    "checked_schedule",
    "due_at",
    "made_name",
    "numbered",
]
