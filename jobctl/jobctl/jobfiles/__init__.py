"""Files of jobs (jobs.toml(5)): reading, checking and writing them. Nothing here knows of a daemon."""

from jobctl.jobfiles.problem import Problem
from jobctl.jobfiles.read import ASKED_BYTES_MAX, FILE_BYTES_MAX, JOBS_MAX, FileJob, JobFile, read, together, unreadable
from jobctl.jobfiles.write import written

__all__ = [
    "ASKED_BYTES_MAX",
    "FILE_BYTES_MAX",
    "JOBS_MAX",
    "FileJob",
    "JobFile",
    "Problem",
    "read",
    "together",
    "unreadable",
    "written",
]
