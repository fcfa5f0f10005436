"""The listening socket's folder, name and rights."""

import contextlib
import os
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from jobctl.errors import Conflict, InvalidInput, Unavailable
from jobctl.paths import Places
from jobctl_daemon.api.listen import listen, remove
from kit.accounts import Account, accounts, needs_root, public_folder


def places(folder: Path, *, system: bool = False, link: Path | None = None) -> Places:
    return Places(str(folder), str(folder), str(folder / "run" / "s"), str(link) if link else None, system)


def mode(path: str) -> int:
    return stat.S_IMODE(os.stat(path).st_mode)


@pytest.mark.parametrize(("system", "folder_mode", "socket_mode"), [(False, 0o700, 0o600), (True, 0o755, 0o666)])
def test_rights_follow_whom_the_daemon_serves(tmp_path: Path, system: bool, folder_mode: int, socket_mode: int) -> None:
    where = places(tmp_path, system=system)
    with listen(where):
        assert (mode(os.path.dirname(where.socket)), mode(where.socket)) == (folder_mode, socket_mode)


def test_a_wider_folder_is_narrowed(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run").chmod(0o777)
    with listen(places(tmp_path)):
        assert mode(str(tmp_path / "run")) == 0o700


def test_a_stale_socket_is_replaced_and_anything_else_is_left(tmp_path: Path) -> None:
    where = places(tmp_path)
    listen(where).close()
    with listen(where), socket.socket(socket.AF_UNIX) as client:
        client.connect(where.socket)
    os.unlink(where.socket)
    Path(where.socket).write_text("precious")
    with pytest.raises(InvalidInput):
        listen(where)
    assert Path(where.socket).read_text() == "precious"


@pytest.mark.case("F103")
@pytest.mark.parametrize("kind", ["file", "folder", "link to a file", "link to a socket", "fifo"])
def test_what_is_no_socket_is_named_and_never_removed(tmp_path: Path, kind: str) -> None:
    where = places(tmp_path)
    path = Path(where.socket)
    path.parent.mkdir(mode=0o700)
    (tmp_path / "precious").write_text("precious")
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(str(tmp_path / "other"))
        match kind:
            case "file":
                path.write_text("precious")
            case "folder":
                path.mkdir()
            case "fifo":
                os.mkfifo(path)
            case _:
                path.symlink_to(tmp_path / ("precious" if kind.endswith("file") else "other"))
        before = os.lstat(path)
        with pytest.raises(InvalidInput, match="no socket"):
            listen(where)
    assert os.lstat(path) == before
    assert (tmp_path / "precious").read_text() == "precious"


@pytest.mark.case("F103")
@pytest.mark.parametrize("full", [False, True])
def test_a_socket_at_which_somebody_listens_is_left_alone(tmp_path: Path, full: bool) -> None:
    where = places(tmp_path)
    Path(where.socket).parent.mkdir(mode=0o700)
    with socket.socket(socket.AF_UNIX) as other, socket.socket(socket.AF_UNIX) as client:
        other.bind(where.socket)
        other.listen(0)
        if full:  # so many wait that the next one is told to come again
            client.connect(where.socket)
        with pytest.raises(Conflict, match="listens at"):
            listen(where)
        assert other.getsockname() == where.socket
        assert os.path.exists(where.socket)


def test_a_named_folder_stays_as_it_is_and_must_be_closed_to_others(tmp_path: Path) -> None:
    named = places(tmp_path)._replace(socket_named=True)
    folder = tmp_path / "run"
    folder.mkdir(mode=0o750)
    folder.chmod(0o750)
    with listen(named):
        assert mode(str(folder)) == 0o750
    folder.chmod(0o1777)
    with pytest.raises(InvalidInput, match="1777"):
        listen(named)
    assert mode(str(folder)) == 0o1777


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a folder away")
def test_a_folder_of_somebody_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    os.chown(tmp_path / "run", 65_534, 65_534)
    with pytest.raises(InvalidInput, match="65534"):
        listen(places(tmp_path))


@pytest.mark.parametrize(("size", "fits"), [(100, True), (107, True), (108, False), (200, False)])
@pytest.mark.parametrize("letter", ["x", "é"])
def test_the_path_may_have_as_many_bytes_as_the_kernel_takes(
    tmp_path_factory: pytest.TempPathFactory, size: int, fits: bool, letter: str
) -> None:
    folder = Path(os.path.realpath("/tmp")) / f"jobctl-listen-{os.getpid()}"
    rest = size - len(os.fsencode(folder)) - 1
    name = letter * (rest // len(letter.encode()))
    path = folder / (name + "y" * (rest - len(name.encode())))
    assert len(os.fsencode(path)) == size
    where = Places(str(folder), str(folder), str(path), None, system=False)
    try:
        if fits:
            with listen(where), socket.socket(socket.AF_UNIX) as client:
                client.connect(str(path))
        else:
            with pytest.raises(InvalidInput, match=str(size)):
                listen(where)
    finally:
        path.unlink(missing_ok=True)
        if folder.exists():
            folder.rmdir()


def test_the_second_name_is_made_replaced_and_removed(tmp_path: Path) -> None:
    link = tmp_path / "runtime" / "jobctl" / "jobd.sock"
    where = places(tmp_path, link=link)
    for _ in range(2):
        with listen(where), socket.socket(socket.AF_UNIX) as client:
            client.connect(str(link))
    inode = os.lstat(where.socket).st_ino
    remove(where, inode)
    assert not os.path.lexists(where.socket)
    assert not os.path.lexists(link)


def test_a_runtime_folder_that_cannot_be_made_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with listen(places(tmp_path, link=tmp_path / "file" / "jobctl" / "jobd.sock")):
        pass


def test_only_our_own_socket_is_removed(tmp_path: Path) -> None:
    where = places(tmp_path)
    listen(where).close()
    remove(where, os.lstat(where.socket).st_ino + 1)
    assert os.path.exists(where.socket)


def test_a_folder_that_cannot_be_made_says_why(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("a file")
    with pytest.raises(Unavailable, match="exists"):
        listen(places(tmp_path))


#: Somebody who tries to get in all the time: what came of it, each outcome once, when its standard input ends.
KNOCKING = """
import errno, select, socket, sys
seen, tries = set(), 0
while not select.select([sys.stdin], [], [], 0)[0]:
    with socket.socket(socket.AF_UNIX) as client:
        seen.add(errno.errorcode.get(client.connect_ex(sys.argv[1]), "connected"))
    if not tries:
        print("knocking", flush=True)
    tries += 1
print(*sorted(seen), flush=True)
"""


@needs_root
@pytest.mark.case("F106")
@pytest.mark.parametrize("umask", [0o000, 0o022])
@pytest.mark.parametrize(
    ("system", "possible"), [(False, {"ENOENT", "EACCES"}), (True, {"ENOENT", "ECONNREFUSED", "connected"})]
)
def test_nobody_gets_in_at_any_moment_of_many_starts_who_should_not(
    system: bool, possible: set[str], umask: int
) -> None:
    """A user's socket lets nobody else in; the system's is open from its first moment and turns nobody away."""
    before = os.umask(umask)
    try:
        with public_folder() as folder, accounts() as host:
            where = places(folder, system=system)
            with knocking(host.user(), where.socket) as seen:
                for _ in range(100):
                    with listen(where):
                        assert mode(where.socket) == (0o666 if system else 0o600)
                    os.unlink(where.socket)
                    os.rmdir(os.path.dirname(where.socket))  # the next start makes it again
            assert seen <= possible
    finally:
        os.umask(before)


@contextlib.contextmanager
def knocking(who: Account, path: str) -> Iterator[set[str]]:
    """While it lasts somebody tries to connect; what came of it is in the set afterwards."""
    command = who.command([sys.executable, "-I", "-S", "-c", KNOCKING, path])
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        seen: set[str] = set()
        try:
            assert process.stdout.readline() == "knocking\n"
            yield seen
        finally:
            process.stdin.close()
            seen.update(process.stdout.read().split())
