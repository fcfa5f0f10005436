"""From what a caller sends to a checked, complete definition. Pure: time and what is true of the host are passed in.

Every limit on what a job may say is here; what holds where it says nothing is in `jobctl.defaults`.
All errors are `InvalidInput` with the field and what to do. The daemon checks what it is sent with it, and `jobctl
validate` a file of jobs where no daemon is.
"""

from jobctl.drafts.circumstances import Circumstances
from jobctl.drafts.job import Checked, checked_job, checked_run
from jobctl.drafts.names import made_name, numbered
from jobctl.drafts.place import checked_queue
from jobctl.drafts.when import after_of, checked_schedule, due_at

__all__ = [
    "Checked",
    "Circumstances",
    "after_of",
    "checked_job",
    "checked_queue",
    "checked_run",
    "checked_schedule",
    "due_at",
    "made_name",
    "numbered",
]
