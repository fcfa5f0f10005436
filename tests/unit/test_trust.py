"""Which files a command runs, and who else can change them."""

import os
from pathlib import Path

import pytest

from jobctl.trust import files_of, weaknesses

PATH = "/usr/bin:/bin"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Its own folder is the only one on the way that is looked at: those above are the host's."""
    place = tmp_path / "d"
    place.mkdir(mode=0o755)
    (place / "s.sh").write_text("#!/bin/sh\n")
    (place / "s.sh").chmod(0o755)
    return place


def weak(folder: Path, *argv: str, cwd: str = "/", also: tuple[str, ...] = (), path: str = PATH) -> list[str]:
    found = weaknesses(argv, cwd, path, also, {0, os.getuid()}, {0, os.getgid()})
    return [text.removeprefix(f"{folder}").lstrip("/ ") for text in found if text.startswith(str(folder))]


def names(*argv: str, cwd: str = "/", path: str = PATH) -> list[str]:
    return list(files_of(argv, cwd, path))


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("{d}/s.sh", True),
        ("exec nice -n5 {d}/s.sh >/dev/null 2>&1", True),
        ("cd {d} && ./s.sh", True),
        ("A=1 {d}/s.sh", True),
        ("true; if true; then {d}/s.sh; fi", True),
        ("true | {d}/s.sh", True),
        (". {d}/s.sh", True),
        ("sh {d}/s.sh", True),
        ("rm -f {d}/s.sh", False),
        ("true >{d}/s.sh", False),
        ("echo '{d}/s.sh", False),
    ],
)
def test_a_shell_line(folder: Path, line: str, wanted: bool) -> None:
    found = names("/bin/sh", "-c", line.format(d=folder))
    assert any(os.path.normpath(name) == str(folder / "s.sh") for name in found) is wanted


def test_programs_scripts_interpreters_and_what_env_runs(folder: Path) -> None:
    script = str(folder / "s.sh")
    (folder / "by-env").write_text("#!/usr/bin/env -S python3 -u\n")
    assert script in names("python3", "-u", script)
    assert script not in names("python3", "-c", "pass", script)
    assert "/bin/sh" in names(script)
    assert script in names("env", "A=1", script)
    assert names("s.sh", path=f"/nonexistent:{folder}")[0] == script
    assert "/usr/bin/python3" in names(str(folder / "by-env"))
    assert names("./s.sh", cwd=str(folder))[0] == f"{folder}/./s.sh"
    assert names() == []


@pytest.mark.case("F126")
def test_each_way_to_change_what_runs_is_named_with_its_place(folder: Path) -> None:
    script = folder / "s.sh"
    assert weak(folder, str(script)) == []
    script.chmod(0o757)
    assert weak(folder, str(script)) == ["s.sh can be written by everybody (mode 0757)"]
    script.chmod(0o755)
    folder.chmod(0o777)
    assert weak(folder, str(script)) == ["can be written by everybody (mode 0777)"]
    folder.chmod(0o1777)  # nobody can take away or replace what belongs to others
    assert weak(folder, str(script)) == []
    folder.chmod(0o755)
    variables = folder / "env"
    variables.write_text("")
    variables.chmod(0o666)
    assert weak(folder, "/bin/true", also=(str(variables),)) == ["env can be written by everybody (mode 0666)"]
    interpreter = folder / "interpreter"
    interpreter.write_bytes(Path("/bin/sh").read_bytes())
    interpreter.chmod(0o777)
    script.write_text(f"#!{interpreter}\n")
    assert weak(folder, str(script)) == ["interpreter can be written by everybody (mode 0777)"]
    link = folder / "link"
    link.symlink_to("s.sh")
    assert weak(folder, "./link", cwd=str(folder)) == ["interpreter can be written by everybody (mode 0777)"]


@pytest.mark.case("F126")
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_what_belongs_to_somebody_else_or_a_group_of_others(folder: Path) -> None:
    script = folder / "s.sh"
    os.chown(script, 12345, -1)
    assert weak(folder, str(script)) == ["s.sh belongs to uid 12345"]
    os.chown(script, 0, 12345)
    script.chmod(0o775)
    assert weak(folder, str(script)) == ["s.sh can be written by the group 12345 (mode 0775)"]
    os.chown(script, 0, 0)
    assert weak(folder, str(script)) == []
    os.chown(folder, 12345, -1)
    assert weak(folder, "./s.sh", cwd=str(folder)) == ["belongs to uid 12345"]


def test_circles_of_links_and_names_that_lead_nowhere_end(folder: Path) -> None:
    (folder / "a").symlink_to("b")
    (folder / "b").symlink_to("a")
    (folder / "loop").write_text(f"#!{folder}/loop\n")
    (folder / "loop").chmod(0o755)
    assert weak(folder, str(folder / "a")) == []
    assert weak(folder, str(folder / "loop")) == []
    assert weak(folder, "/nonexistent/x") == []
