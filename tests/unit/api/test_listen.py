"""The listening socket's folder, name and rights."""

import os
import socket
import stat
from pathlib import Path

import pytest

from jobctl.errors import InvalidInput, Unavailable
from jobctl.paths import Places
from jobctl_daemon.api.listen import listen, remove


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
