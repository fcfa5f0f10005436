"""/etc/environment and /etc/default/locale, read as pam_env 1.5 reads them; cases checked against its source."""

import os
from pathlib import Path

import pytest

from jobctl_daemon.execution.login_env import LoginEnv, apply, assembled


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("A=1\nB=two words\n", {"A": "1", "B": "two words"}),
        ("  export A=1\nexport\tB=2\n", {"A": "1"}),
        ("# A=1\n\n   # B=2\nC=3 # three\n", {"C": "3 "}),
        ('A="x y"\nB=\'x\'\nC="x\nD=x"\n', {"A": "x y", "B": "x", "C": "x", "D": 'x"'}),
        ('E="a"b"\nF=""\n', {"E": 'a"b', "F": ""}),
        ('A="x # y"\n', {"A": "x "}),
        ("A=1\\\n2\nB=1 \\ \n  2\n", {"A": "12", "B": "1   2"}),
        ("A=1\\\n# nothing\n2\n", {"A": "12"}),
        ("A=1\nB=unfinished\\\n", {"A": "1"}),
        ("A=1\nA\n", {}),
        ("A\nA=\n", {"A": ""}),
        ("=1\nA-B=1\nÄ=1\nA B=1\nA =1\n", {}),
        ("A=1\r\n", {"A": "1\r"}),
        ("A=1", {"A": "1"}),
        ("A=ä\nB=$A\n", {"A": "ä", "B": "$A"}),
        ("A=1\nB=" + "x" * 9000 + "\nC=3\n", {"A": "1"}),
    ],
)  # fmt: skip
def test_lines(text: str, wanted: dict[str, str]) -> None:
    found: dict[str, str] = {}
    apply(tuple(assembled(text)), found)
    assert found == wanted


def test_the_locale_comes_after_the_environment_and_a_changed_file_is_read_again(tmp_path: Path) -> None:
    (tmp_path / "etc" / "default").mkdir(parents=True)
    environment, locale = tmp_path / "etc" / "environment", tmp_path / "etc" / "default" / "locale"
    login = LoginEnv(str(tmp_path))
    assert login.variables() == {}
    environment.write_text("LANG=de_DE.UTF-8\nPROXY=1\n")
    assert login.variables() == {"LANG": "de_DE.UTF-8", "PROXY": "1"}
    locale.write_text("LANG=fr_FR.UTF-8\nPROXY\n")
    assert login.variables() == {"LANG": "fr_FR.UTF-8"}
    replaced = tmp_path / "new"
    replaced.write_text("LANG=it_IT.UTF-8\n")
    replaced.rename(locale)
    environment.unlink()
    assert login.variables() == {"LANG": "it_IT.UTF-8"}


def test_a_file_that_others_can_write_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    path = tmp_path / "etc" / "environment"
    path.write_text("LD_PRELOAD=/tmp/x\n")
    for mode in (0o666, 0o664):
        path.chmod(mode)
        assert LoginEnv(str(tmp_path)).variables() == {}
    path.chmod(0o644)
    assert LoginEnv(str(tmp_path)).variables() == {"LD_PRELOAD": "/tmp/x"}
    if os.geteuid() == 0:
        os.chown(path, 12345, -1)
        assert LoginEnv(str(tmp_path)).variables() == {}
    path.unlink()
    os.mkfifo(path)
    assert LoginEnv(str(tmp_path)).variables() == {}
