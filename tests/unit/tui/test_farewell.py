"""What is said to somebody who leaves the screens."""

from typing import Any

from jobctl_tui.words.farewell import farewell

Json = dict[str, Any]
STATUS: Json = {
    "pid": 812, "paused": None, "jobs": {"total": 3, "failed": 0, "late": 0}, "dead": {"total": 0},
    "returns_after_reboot": True, "returns_after_reboot_why": "jobctl.service",
}  # fmt: skip


def test_jobs_go_on_and_what_waits_is_counted() -> None:
    assert farewell(STATUS, reached=True) == ["jobs go on: jobd runs as pid 812"]
    bad = STATUS | {"jobs": {"total": 3, "failed": 1, "late": 2}, "dead": {"total": 1}}
    assert farewell(bad, reached=True) == ["jobs go on: jobd runs as pid 812; 1 failed, 2 late, 1 dead letter"]


def test_a_daemon_that_will_not_come_back_is_told_of_in_a_sentence_of_its_own() -> None:
    status = STATUS | {"returns_after_reboot": False, "returns_after_reboot_why": "started by hand"}
    assert farewell(status, reached=True)[1:] == ["jobd will NOT come back after a reboot or logout: started by hand"]


def test_nobody_is_told_that_jobs_go_on_when_they_may_not() -> None:
    assert farewell(None, reached=False) == []
    assert farewell(STATUS, reached=False) == ["jobd does not answer: jobs may not fire; see jobctl daemon status"]
    paused = farewell(STATUS | {"paused": {"paused_by": "ana"}}, reached=True)
    assert paused == ["no job is started: jobd is paused, it runs as pid 812"]
