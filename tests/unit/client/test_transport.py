"""One request: what comes back, and the reason in words when nothing does."""

import os
import socket
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from jobctl import wire
from jobctl.client.discover import client_for
from jobctl.client.sync import Client
from jobctl.client.transport import PROTOCOL, Request, UnixTransport, unreachable
from jobctl.errors import BY_CODE, Forbidden, InvalidInput, JobctlError, Unreachable, VersionMismatch, from_code
from kit.accounts import needs_root
from unit.client.fake_daemon import Answer, FakeDaemon, problem

STRANGER = 54_321


def client(path: str) -> Client:
    return Client(UnixTransport(path))


def test_the_protocol_number_is_that_of_the_wire() -> None:
    assert str(wire.PROTOCOL) == PROTOCOL


def test_every_request_says_its_protocol(daemon: FakeDaemon) -> None:
    client(daemon.path).status()
    assert daemon.asked[0].headers["Jobctl-Protocol"] == "1"


def test_another_protocol_is_refused(daemon: FakeDaemon) -> None:
    daemon.protocol = "2"
    with pytest.raises(VersionMismatch, match="protocol 2"):
        client(daemon.path).job("backup")


def test_an_answer_without_a_protocol_is_believed_by_nobody_who_changes_or_reads_jobs(daemon: FakeDaemon) -> None:
    daemon.protocol = None
    with pytest.raises(VersionMismatch, match="names no protocol"):
        list(client(daemon.path).jobs())
    assert client(daemon.path).stop_daemon()["state"] == "stopping"


@pytest.mark.parametrize(("theirs", "why"), [("0.1.0", None), ("9.9", "the daemon is 9.9, this jobctl is 0.1.0")])
def test_a_refusal_by_another_version_of_the_same_protocol_says_so(
    daemon: FakeDaemon, monkeypatch: pytest.MonkeyPatch, theirs: str, why: str | None
) -> None:
    monkeypatch.setattr("jobctl.__version__", "0.1.0")
    unknown = problem(422, "invalid_input", "there is no field colour", "", "colour")
    daemon.override("GET", "/v1/jobs/backup", unknown._replace(headers={**unknown.headers, "Jobctl-Version": theirs}))
    with pytest.raises(InvalidInput) as caught:
        client(daemon.path).job("backup")
    assert str(caught.value.details.get("why")).partition(":")[0] == str(why)


def test_a_daemon_of_another_protocol_is_recognised_and_stopped(daemon: FakeDaemon) -> None:
    daemon.protocol = "2"
    assert client(daemon.path).status()["pid"]
    assert client(daemon.path).stop_daemon()["state"] == "stopping"


@pytest.mark.parametrize("code", sorted(BY_CODE))
def test_a_problem_document_becomes_its_error(daemon: FakeDaemon, code: str) -> None:
    daemon.override(
        "GET", "/v1/status", problem(from_code(code, "m").http_status, code, "the message", "the hint", "at")
    )
    with pytest.raises(JobctlError) as caught:
        client(daemon.path).status()
    assert type(caught.value) is BY_CODE[code]
    assert (caught.value.message, caught.value.hint) == ("the message", "the hint")


@pytest.mark.parametrize("body", [b"<html>", b"[]", b"{}"])
def test_an_error_that_is_no_problem_document(daemon: FakeDaemon, body: bytes) -> None:
    daemon.override("GET", "/v1/status", Answer(502, body))
    with pytest.raises(Unreachable, match="502"):
        client(daemon.path).status()


def test_an_answer_that_is_not_json(daemon: FakeDaemon) -> None:
    daemon.override("GET", "/v1/status", Answer(200, b"<html>"))
    with pytest.raises(Unreachable, match="not JSON"):
        client(daemon.path).status()


def why(path: str) -> str:
    with pytest.raises(Unreachable) as caught:
        client(path).status()
    assert caught.value.exit_code == 4
    assert caught.value.hint
    return str(caught.value.details["why"])


def test_no_socket(tmp_path: Path) -> None:
    assert "there is no socket" in why(str(tmp_path / "none"))


def test_a_stale_socket(daemon: FakeDaemon) -> None:
    daemon.close(unlink=False)
    assert "stale" in why(daemon.path)


def test_a_folder_that_may_not_be_entered(daemon: FakeDaemon, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: socket.socket, path: str) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    assert "permission denied" in why(daemon.path)


def test_not_a_socket(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert str(tmp_path / "file") in why(str(tmp_path / "file"))


def test_a_path_that_is_too_long_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="107"):
        client(str(tmp_path / ("x" * 108)))


def test_a_daemon_that_says_nothing(tmp_path: Path) -> None:
    path = str(tmp_path / "mute.sock")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        with pytest.raises(Unreachable) as caught:
            UnixTransport(path)(Request("GET", "/v1/status", timeout_s=0.05))
    assert "no answer in time" in str(caught.value.details["why"])


def test_a_daemon_that_goes_away_in_the_middle(daemon: FakeDaemon) -> None:
    daemon.override("GET", "/v1/status", Answer(200, b'{"a"', {"Transfer-Encoding": "chunked"}, cut=True))
    with pytest.raises(Unreachable, match="went away"):
        client(daemon.path).status()


def test_a_peer_that_closes_at_once(tmp_path: Path) -> None:
    path = str(tmp_path / "rude.sock")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        thread = threading.Thread(target=lambda: listener.accept()[0].close())
        thread.start()
        text = why(path)
        thread.join()
    assert "closed" in text or "broke" in text


@pytest.mark.parametrize("key", ["é", "a\nb", "a\rX: y"])
def test_a_key_cannot_smuggle_a_header(daemon: FakeDaemon, key: str) -> None:
    with pytest.raises(InvalidInput, match="ASCII"):
        client(daemon.path).create_job({"target": {"command": ["x"]}}, key)


def test_bytes_that_are_not_utf8_are_refused_here(daemon: FakeDaemon) -> None:
    with pytest.raises(InvalidInput, match="UTF-8"):
        client(daemon.path).create_job({"target": {"command": ["\udcff"]}})


def test_a_closed_folder_is_not_helped_by_a_start() -> None:
    assert "folders of your own" in unreachable("/x/jobd.sock: permission denied; this user may not enter").hint
    both = "/x: permission denied; y: there is no socket, so no daemon runs there"
    assert "jobctl daemon start" in unreachable(both).hint


@needs_root
def test_nothing_is_sent_to_a_server_that_is_neither_this_users_nor_roots(tmp_path: Path) -> None:
    """A socket of another user's, listened on with that user's rights: as root, and as a third user."""
    path = str(tmp_path / "theirs.sock")
    listener = socket.socket(socket.AF_UNIX)
    with listener:
        listener.bind(path)
        _as(STRANGER, listener.listen)
        with pytest.raises(Forbidden, match=f"uid {STRANGER}") as caught:
            client(path).status()
        assert caught.value.exit_code == 6
        connection, _ = listener.accept()
        with connection:
            assert connection.recv(1) == b""
        with pytest.raises(Forbidden):
            client_for([path, str(tmp_path / "none.sock")]).status()


def _as(uid: int, what: Callable[[], object]) -> None:
    """With the rights of a user for a moment: listen(2) notes whose they are."""
    os.seteuid(uid)
    try:
        what()
    finally:
        os.seteuid(0)
