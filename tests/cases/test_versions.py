"""A client and a daemon of two versions: neither does the wrong thing in silence, and one can stop the other."""

import http.client
import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from jobctl import __version__
from kit.daemon import RealDaemon

#: A command line that speaks another protocol, or is of another version.
OTHER = """
import jobctl
import jobctl.client.transport as transport
jobctl.__version__ = {version!r}
transport.PROTOCOL = {protocol!r}
from jobctl.cli.main import main
main()
"""


class Socket(http.client.HTTPConnection):
    """HTTP to the daemon, without a client of ours."""

    def __init__(self, path: str) -> None:
        super().__init__("jobd")
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(self._path)


@pytest.fixture
def raw(daemon: RealDaemon) -> Iterator[Socket]:
    made = Socket(daemon.socket)
    yield made
    made.close()


def ask(raw: Socket, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any]:
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    raw.request(method, path, None if body is None else json.dumps(body), sent)
    answer = raw.getresponse()
    text = answer.read()
    return answer.status, json.loads(text) if text else None


def other(daemon: RealDaemon, *words: str, protocol: str = "1", version: str = "9.9") -> Any:
    return subprocess.run(
        [sys.executable, "-c", OTHER.format(protocol=protocol, version=version), *words],
        env=daemon.environ,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


@pytest.mark.case("F134")
@pytest.mark.parametrize("protocol", ["0", "2", "x"])
def test_a_caller_of_another_protocol_changes_nothing_and_can_still_ask_and_stop(
    daemon: RealDaemon, raw: Socket, protocol: str
) -> None:
    daemon.add("kept", ["/bin/true"])
    for method, path in (("POST", "/v1/jobs/kept/pause"), ("DELETE", "/v1/jobs/kept"), ("GET", "/v1/jobs")):
        status, problem = ask(raw, method, path, Jobctl_Protocol=protocol)
        assert (status, problem["code"]) == (400, "version_mismatch")
    status, facts = ask(raw, "GET", "/v1/status", Jobctl_Protocol=protocol)

    assert (status, facts["protocol"]) == (200, 1)
    assert daemon.client.job("kept")["paused"] is False
    assert ask(raw, "POST", "/v1/jobs/kept/pause")[0] == 200  # who says nothing is taken to speak as the daemon does


@pytest.mark.case("F134")
@pytest.mark.parametrize(
    ("method", "path", "body", "field"),
    [
        ("POST", "/v1/dead/discard", {"all": True, "only_failed": True}, "only_failed"),
        ("POST", "/v1/dead/replay", {"all": True, "dry_run": True}, "dry_run"),
        ("DELETE", "/v1/jobs/kept?keep_runs=1", None, None),
        ("POST", "/v1/jobs/kept/pause", {"only_this": True}, "only_this"),
        ("PATCH", "/v1/jobs/kept", {"overlap": "skip", "unless_running": True}, "unless_running"),
        ("POST", "/v1/daemon/stop?when_idle=1", None, None),
        ("POST", "/v1/dead/discard", {}, "ids"),
        ("POST", "/v1/runs", {}, "target"),
        ("POST", "/v1/jobs", {"name": "x"}, "target"),
        ("PUT", "/v1/queues/night", {}, "concurrency"),
    ],
)
def test_an_unknown_or_a_missing_field_is_an_error_and_nothing_is_done(
    daemon: RealDaemon, raw: Socket, method: str, path: str, body: Any, field: str | None
) -> None:
    kept = daemon.add("kept", ["/bin/true"])
    status, problem = ask(raw, method, path, body)

    assert (status, problem["code"]) == (422, "invalid_input")
    if field is not None:
        assert field in (problem["field"] or "") + problem["title"]
    assert daemon.client.job("kept") == kept


@pytest.mark.case("F134")
@pytest.mark.parametrize(("protocol", "side"), [("2", "restart the daemon"), ("0", "this jobctl is older")])
def test_a_command_line_of_another_protocol_says_which_side_to_change_and_stops_the_daemon(
    daemon: RealDaemon, protocol: str, side: str
) -> None:
    kept = daemon.add("kept", ["/bin/true"])
    for words in (["ls"], ["rm", "kept", "--yes"], ["status"]):
        refused = other(daemon, *words, protocol=protocol)
        assert refused.returncode == 8, refused
        assert side in refused.stderr
    assert daemon.client.job("kept") == kept
    shown = other(daemon, "status", protocol=protocol).stdout
    state = other(daemon, "daemon", "status", protocol=protocol)
    stopped = other(daemon, "daemon", "stop", protocol=protocol)
    assert daemon.process is not None

    assert f"{__version__}, running" in shown
    assert state.returncode == 0
    assert stopped.returncode == 0
    assert daemon.process.wait(20) == 0


@pytest.mark.case("F134")
def test_that_a_newer_version_is_installed_than_runs_is_said_and_changes_nothing(daemon: RealDaemon) -> None:
    started = daemon.client.status()["started_at"]
    status = other(daemon, "status", version="9.9")
    version = other(daemon, "version", version="9.9").stdout

    assert status.returncode == 0
    assert "(installed is 9.9: start it anew)" in status.stdout
    assert version.splitlines()[0] == "jobctl 9.9"
    assert version.splitlines()[1].startswith("jobd ")
    assert "9.9" not in version.splitlines()[1]
    assert daemon.client.status()["started_at"] == started
