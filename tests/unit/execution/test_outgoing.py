"""Messages on their way: what is in the file that a mail program reads, and when it goes."""

from pathlib import Path

import pytest

from jobctl.model import Enclosed, Execution, Policies
from jobctl.states import Trigger
from jobctl_daemon.execution import outgoing
from jobctl_daemon.execution.logs import LogFiles
from jobctl_daemon.execution.outgoing import Outgoing
from jobctl_daemon.rows import Claim


def claim(run_id: int = 9, sends: Enclosed | None = None, stdin: str | None = "To: ada\n\n") -> Claim:
    return Claim(
        run_id=run_id, fence=1, attempt=1, key="mail:7:1", job_id=1, job_uid="u", job_name="mail", version=1,
        owner_uid=1, owner_name="ada", slot_ms=0, due_ms=0, trigger=Trigger.NOTICE, timezone="UTC",
        execution=Execution(command=["sendmail"], stdin=stdin, sends=sends), policies=Policies(),
    )  # fmt: skip


@pytest.fixture
def logs(tmp_path: Path) -> LogFiles:
    made = LogFiles(str(tmp_path / "runs"))
    made.create_dir(7, 1)
    return made


@pytest.fixture
def box(tmp_path: Path, logs: LogFiles) -> Outgoing:
    return Outgoing(str(tmp_path / "mail"), logs)


def body(box: Outgoing, enclosed: Enclosed) -> bytes:
    sent = claim(sends=enclosed)
    box.write([sent])
    given = box.given(sent)
    assert given is not None
    text = Path(given["own"]).read_bytes()
    assert text.startswith(b"To: ada\n\n")
    return text.removeprefix(b"To: ada\n\n")


def log(logs: LogFiles, text: bytes) -> int:
    """The log of run 7."""
    Path(logs.path(7, 1)).write_bytes(text)
    return len(text)


def test_the_output_follows_the_head_byte_for_byte(box: Outgoing, logs: LogFiles) -> None:
    text = bytes(range(256)) * 3_000 + b"no newline"
    assert body(box, Enclosed(run_id=7, fence=1, size=log(logs, text))) == text


def test_a_note_stands_behind_it_or_alone(box: Outgoing, logs: LogFiles) -> None:
    size = log(logs, b"out\n")
    assert body(box, Enclosed(run_id=7, fence=1, size=size, note="a part is missing")) == (
        b"out\n\n[jobctl: a part is missing]\n"
    )
    assert (
        body(box, Enclosed(run_id=7, fence=1, size=0, note="it printed nothing")) == b"[jobctl: it printed nothing]\n"
    )


def test_a_compacted_log_has_a_line_in_its_middle(box: Outgoing, logs: LogFiles) -> None:
    log(logs, b"a" * 4096 + b"z" * 4096)
    found = body(box, Enclosed(run_id=7, fence=1, size=100_000))
    assert found == (
        b"a" * 4096 + b"\n[jobctl: 91808 bytes, from 4096 to 95904, were removed by the log limit]\n" + b"z" * 4096
    )


def test_a_log_that_is_gone_is_said_to_be(box: Outgoing) -> None:
    assert body(box, Enclosed(run_id=7, fence=1, size=5)) == (
        b"\n[jobctl: its output of 5 bytes was removed before this mail could be sent]\n"
    )


def test_of_more_than_a_mail_takes_there_are_both_ends(
    box: Outgoing, logs: LogFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outgoing, "BODY_BYTES_MAX", 100)
    whole = b"".join(b"%04d\n" % number for number in range(100))
    found = body(box, Enclosed(run_id=7, fence=1, size=log(logs, whole)))
    said = b"\n[jobctl: 400 bytes are left out here, a mail has 100 at the most: jobctl log]\n"
    assert found == whole[:50] + said + whole[-50:]


def test_the_file_is_nobody_elses_and_goes_when_its_command_runs(box: Outgoing, logs: LogFiles) -> None:
    size = log(logs, b"out")
    for number in (9, 10):
        box.write([claim(number, Enclosed(run_id=7, fence=1, size=size))])
    folder = Path(box.directory)
    assert folder.stat().st_mode & 0o777 == 0o700
    assert {file.stat().st_mode & 0o777 for file in folder.iterdir()} == {0o600}
    box.taken(["9-1", "11-1"])
    assert [file.name for file in folder.iterdir()] == ["10-1"]


def test_what_an_earlier_daemon_left_goes_but_for_what_is_about_to_start(box: Outgoing, logs: LogFiles) -> None:
    size = log(logs, b"out")
    for number in (9, 10):
        box.write([claim(number, Enclosed(run_id=7, fence=1, size=size))])
    after = Outgoing(box.directory, logs)
    after.sweep(["10-1", "77-1"])
    assert [file.name for file in Path(box.directory).iterdir()] == ["10-1"]
    after.taken(["10-1"])
    after.sweep([])
    assert list(Path(box.directory).iterdir()) == []
    Outgoing(str(Path(box.directory) / "never"), logs).sweep([])


def test_one_that_cannot_be_written_is_not_there_and_other_commands_are_given_nothing(
    box: Outgoing, logs: LogFiles
) -> None:
    Path(box.directory).write_text("in the way")
    bad = claim(sends=Enclosed(run_id=7, fence=1, size=log(logs, b"out")))
    box.write([bad])
    with pytest.raises(OSError, match="Not a directory"):
        box.given(bad)
    assert box.given(claim()) is None
