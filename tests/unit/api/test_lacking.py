"""What the system has none of is an answer to ask again after, not a bug with a number."""

import errno

import pytest

from jobctl_daemon.api.lacking import lacking


@pytest.mark.parametrize(
    ("error", "what"),
    [
        (RuntimeError("can't start new thread"), "process or thread"),
        (BlockingIOError(errno.EAGAIN, "x"), "process or thread"),
        (OSError(errno.EMFILE, "x"), "file descriptor"),
        (OSError(errno.ENFILE, "x"), "file descriptor"),
        (OSError(errno.ENOSPC, "x"), "room on its disk"),
        (MemoryError(), "memory"),
    ],
)
def test_a_lack_is_said_and_may_be_asked_again(error: Exception, what: str) -> None:
    answer = lacking(error)
    assert answer is not None
    assert what in answer.message
    assert (answer.code, answer.http_status) == ("unavailable", 503)


@pytest.mark.parametrize("error", [RuntimeError("other"), OSError(errno.EACCES, "x"), KeyError("x"), OSError()])
def test_a_bug_stays_one(error: Exception) -> None:
    assert lacking(error) is None
