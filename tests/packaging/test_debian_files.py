"""What is in the package, and what it says of itself."""

import gzip
import io
import os
import re
import shutil
import subprocess
import tarfile
from pathlib import Path
from typing import Final

import pytest

from kit.deb_root import build, debs_of

pytestmark = pytest.mark.long

TREE: Final = "./usr/lib/jobctl/tree/"


def said(*words: str, cwd: Path | None = None) -> bytes:
    done = subprocess.run(words, cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def deb(release_tree: Path) -> Path:
    return debs_of(release_tree).now


@pytest.fixture(scope="module")
def files(deb: Path) -> dict[str, tuple[tarfile.TarInfo, bytes]]:
    """All that dpkg would unpack."""
    with tarfile.open(fileobj=io.BytesIO(said("dpkg-deb", "--fsys-tarfile", str(deb)))) as packed:
        return {
            member.name: (member, file.read() if member.isreg() and (file := packed.extractfile(member)) else b"")
            for member in packed
        }


@pytest.fixture(scope="module")
def control(deb: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("control")
    said("dpkg-deb", "-e", str(deb), str(folder))
    return folder


def test_everything_is_roots_and_has_the_modes_of_a_package(files: dict[str, tuple[tarfile.TarInfo, bytes]]) -> None:
    for name, (member, text) in files.items():
        assert (member.uid, member.gid) == (0, 0), name
        if member.isdir():
            assert member.mode == 0o755, name
        elif member.isfile():
            program = text.startswith(b"#!") and not name.endswith(".py")
            assert member.mode in ({0o755} if program and not name.startswith(TREE) else {0o644, 0o755}), name
    assert files["./usr/bin/jobctl"][0].linkname == "../lib/jobctl/current/bin/jobctl"
    assert files["./usr/sbin/jobd"][0].linkname == "../lib/jobctl/current/bin/jobd"


def test_every_page_of_the_manual_is_there_and_packed_alike_each_time(
    files: dict[str, tuple[tarfile.TarInfo, bytes]], release_tree: Path
) -> None:
    pages = sorted(page.relative_to(release_tree) for page in release_tree.glob("share/man/man*/*"))
    assert pages
    packed = {name for name in files if name.startswith("./usr/share/man/man") and name.endswith(".gz")}
    assert packed == {f"./usr/{page}.gz" for page in pages}
    for page in pages:
        text = files[f"./usr/{page}.gz"][1]
        assert text[4:8] == bytes(4), "no time in it"
        assert gzip.decompress(text) == (release_tree / page).read_bytes()


def test_units_and_scripts_have_their_places_filled_in_and_say_who_brings_them(
    files: dict[str, tuple[tarfile.TarInfo, bytes]], control: Path
) -> None:
    places = ("./usr/lib/systemd/", "./etc/init.d/")
    texts = {name: text.decode() for name, (_, text) in files.items() if name.startswith(places) and text}
    assert len(texts) == 5
    for name, text in texts.items():
        assert "install.sh" not in text, name
        assert "he package jobctl brings it" in text, name
    texts |= {path.name: path.read_text() for path in control.iterdir() if path.name.startswith(("pre", "post"))}
    for name, text in texts.items():
        assert not re.search(r"@[A-Z]+@", text), name
    user = texts["./usr/lib/systemd/user/jobctl-runner@.service"]
    state = re.search(r"--state (\S+)", user)
    assert state, user
    assert f"Environment=XDG_STATE_HOME={state[1].rpartition('/')[0]}\n" in texts[
        "./usr/lib/systemd/user/jobd.service"
    ]  # fmt: skip


def test_shellcheck_has_nothing_to_say_of_the_maintainer_scripts(control: Path) -> None:
    if shutil.which("shellcheck") is None:
        pytest.skip("there is no shellcheck")
    scripts = [str(control / name) for name in ("preinst", "postinst", "prerm", "postrm")]
    done = subprocess.run(["shellcheck", *scripts], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


def test_it_needs_the_c_library_that_its_programs_were_linked_with_and_no_python(
    control: Path, release_tree: Path
) -> None:
    fields = dict(re.findall(r"^([A-Z][\w-]+): (.*)$", (control / "control").read_text(), re.M))
    assert re.fullmatch(r"libc6 \(>= [\d.]+\), passwd", fields["Depends"]), fields["Depends"]
    floor = tuple(map(int, re.findall(r"\d+", fields["Depends"].partition("(")[2])))
    objects = [str(path) for path in release_tree.rglob("*") if path.is_file() and _is_object(path)]
    symbols = said("objdump", "-T", *objects).decode()
    newest = max(tuple(map(int, found.split("."))) for found in re.findall(r"GLIBC_(\d+\.\d+)", symbols))
    assert floor >= newest
    assert (control / "conffiles").read_text() == "/etc/init.d/jobd\n"


def _is_object(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(4) == b"\x7fELF" and "static" not in path.parts and path.parent.name != "bin"


def test_everybody_whose_work_is_in_it_is_named(files: dict[str, tuple[tarfile.TarInfo, bytes]]) -> None:
    text = files["./usr/share/doc/jobctl/copyright"][1].decode()
    assert text.startswith("Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n")
    parts = {name.split("/")[-2] for name in files if name.endswith(".dist-info/METADATA")}
    assert len(parts) > 10
    for part in parts:
        assert part.startswith("jobctl") or f"/{part}/*" in text, part
    used = set(re.findall(r"^License: (\S.*)$", text, re.M))
    assert "see-its-text" not in used
    assert used == set(re.findall(r"^License: (\S.*)\n ", text, re.M)), "each has its text"


def test_the_same_tree_makes_the_same_bytes_whoever_copied_it(deb: Path, release_tree: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    said("cp", "-a", str(release_tree), str(copy))
    for number, path in enumerate(copy.glob("share/**/*")):
        path.chmod(path.stat().st_mode & 0o700)
        os.utime(path, (2_000_000_000 + number,) * 2)
    again = build(copy, tmp_path / "out")
    assert again.name == deb.name
    assert again.read_bytes() == deb.read_bytes()


def test_lintian_has_nothing_to_say(deb: Path, tmp_path: Path) -> None:
    """Of all but the programs themselves, which take it a minute, and are as `packaging/build tree` makes them."""
    if shutil.which("lintian") is None:
        pytest.skip("there is no lintian")
    said("dpkg-deb", "-R", str(deb), str(tmp_path / "root"))
    shutil.rmtree(tmp_path / "root/usr/lib/jobctl/tree/lib")
    listed = tmp_path / "root/DEBIAN/md5sums"
    kept = [line for line in listed.read_text().splitlines(True) if "usr/lib/jobctl/tree/lib/" not in line]
    listed.write_text("".join(kept))
    said("dpkg-deb", "--root-owner-group", "-Zgzip", "-z1", "-b", str(tmp_path / "root"), str(tmp_path / deb.name))
    done = subprocess.run(["lintian", str(tmp_path / deb.name)], capture_output=True, text=True, check=False)
    found = [line for line in done.stdout.splitlines() if line[:2] in {"E:", "W:"}]
    assert found == []
