"""Which daemon is talked to when there may be several, or none."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from jobctl.client.discover import AnyDaemon, places
from jobctl.client.sync import Client
from jobctl.errors import Forbidden, Unreachable
from unit.client.fake_daemon import FakeDaemon, problem


@pytest.fixture
def second(tmp_path: Path) -> Iterator[FakeDaemon]:
    fake = FakeDaemon(tmp_path / "second.sock")
    yield fake
    fake.close()


def test_the_order_of_the_places(tmp_path: Path) -> None:
    home = {"HOME": str(tmp_path)}
    assert places(home, 1000, "/x").sockets == ["/x"]
    assert places({**home, "JOBCTL_SOCKET": "/y"}, 1000, None) == (["/y"], True)
    assert places({**home, "JOBCTL_HOME": "/h"}, 1000, None) == (["/h/run/jobd.sock"], False)
    own = str(tmp_path / ".local/state/jobctl/jobd.sock")
    assert places(home, 1000, None) == ([own, "/run/jobctl/jobd.sock"], False)


def test_the_link_leads_to_a_daemon_whose_state_is_elsewhere(tmp_path: Path) -> None:
    link = tmp_path / "run" / "jobctl" / "jobd.sock"
    link.parent.mkdir(parents=True)
    link.touch()
    environ = {"HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path / "run")}
    assert places(environ, 1000, None).sockets[0] == str(link)


def test_the_first_that_answers_is_kept(tmp_path: Path, daemon: FakeDaemon, second: FakeDaemon) -> None:
    transport = AnyDaemon([str(tmp_path / "none"), daemon.path, second.path])
    client = Client(transport)
    client.status()
    client.status()
    assert (transport.socket, len(daemon.asked), second.asked) == (daemon.path, 2, [])


def test_a_daemon_that_does_not_serve_the_caller_counts_as_none(daemon: FakeDaemon, second: FakeDaemon) -> None:
    for path in ("/v1/status", "/v1/jobs"):
        daemon.override("GET", path, problem(403, "forbidden", "not for you"))
    transport = AnyDaemon([daemon.path, second.path])
    Client(transport).status()
    assert transport.socket == second.path


def test_a_refusal_of_one_request_is_believed(daemon: FakeDaemon, second: FakeDaemon) -> None:
    daemon.override("POST", "/v1/jobs", problem(403, "forbidden", "not as that user"))
    with pytest.raises(Forbidden, match="as that user"):
        Client(AnyDaemon([daemon.path, second.path])).create_job({"target": {"command": ["x"]}})
    assert second.asked == []


def test_the_only_daemon_may_refuse(daemon: FakeDaemon) -> None:
    daemon.override("GET", "/v1/status", problem(403, "forbidden", "not for you"))
    with pytest.raises(Forbidden):
        Client(AnyDaemon([daemon.path])).status()


def test_no_daemon_names_every_place(tmp_path: Path) -> None:
    with pytest.raises(Unreachable) as caught:
        Client(AnyDaemon([str(tmp_path / "a"), str(tmp_path / "b")])).status()
    assert "/a:" in str(caught.value.details["why"])
    assert "/b:" in str(caught.value.details["why"])
