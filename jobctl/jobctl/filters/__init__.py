"""Filters: which jobs, runs or dead letters are meant, as a person types it.

    state:failed,dead  tag:prod  -tag:test  queue:mail  owner:ana  name:back*  next<1h  last>2d  dur>5m  exit:1
    class:timed_out  trigger:manual  source:crontab  command:rsync  error:space  word  "two words"  /^db-[0-9]+$/

All terms must hold; commas are alternatives; a minus before a term means not. Case does not matter.
"""

from .grammar import TERMS_MAX, TEXT_CHARS_MAX, parse
from .keys import KEYS, Key
from .pattern import WORK_MAX, Pattern, TooCostly, Work, glob
from .quoting import quoted
from .search import Search
from .suggest import suggest
from .terms import Filter, Term

__all__ = [
    "KEYS",
    "TERMS_MAX",
    "TEXT_CHARS_MAX",
    "WORK_MAX",
    "Filter",
    "Key",
    "Pattern",
    "Search",
    "Term",
    "TooCostly",
    "Work",
    "glob",
    "parse",
    "quoted",
    "suggest",
]
