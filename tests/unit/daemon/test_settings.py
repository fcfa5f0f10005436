"""jobd.toml: defaults, bounds, and answers that say what to mend."""

from pathlib import Path

import pytest

from jobctl.errors import InvalidInput
from jobctl_daemon import settings


def _read(tmp_path: Path, text: str) -> settings.Settings:
    file = tmp_path / "jobd.toml"
    file.write_text(text)
    return settings.read(str(file))


def test_without_a_file_the_defaults_hold(tmp_path: Path) -> None:
    assert settings.read(str(tmp_path / "none.toml")) == settings.Settings()


def test_what_the_file_sets_holds_and_the_rest_is_default(tmp_path: Path) -> None:
    found = _read(tmp_path, 'slots = 8\nlog_level = "debug"\n')

    assert (found.slots, found.log_level, found.runners) == (8, "debug", 2)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("slotz = 3", "slots"),
        ("slots = 0", "1 to"),
        ('slots = "many"', "Expected `int`"),
        ('log_level = "loud"', "one of"),
        ('syslog = "yes"', "one of auto, on, off"),
        ('syslog_socket = "log"', "an absolute path"),
        ('crontab_mail = "always"', "one of output, failure, never"),
        ('sendmail = "sendmail -t"', "an absolute path"),
        ("slots = ", "cannot be read"),
        ("retention_log_bytes = 5", "goes from"),
        ('pass_env = "DATABASE_URL"', "Expected `array`"),
        ('pass_env = ["A=B"]', "a list of names"),
        ('pass_env = ["HOME"]', "sets for every command itself"),
        ('pass_env = ["JOBCTL_RUN_KEY"]', "sets for every command itself"),
    ],
)
def test_a_wrong_setting_is_refused_with_file_key_and_mend(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        _read(tmp_path, text)

    assert "jobd.toml" in caught.value.message
    assert words in f"{caught.value.message} {caught.value.hint}"


def test_slots_are_bounded_by_what_the_kernel_allows() -> None:
    wanted = settings.Settings(slots=512, runners=2)

    assert settings.slots_possible(wanted, -1, -1) == 512
    assert settings.slots_possible(wanted, 256, -1) == 256
    assert settings.slots_possible(wanted, -1, 100) == 50
    assert settings.slots_possible(wanted, 10, 1) == 1


def test_the_login_path_is_that_of_login_defs(tmp_path: Path) -> None:
    file = tmp_path / "login.defs"
    file.write_text("# ENV_PATH PATH=/no\nENV_SUPATH\tPATH=/sbin:/bin\nENV_PATH PATH=/bin:/games\n")

    assert settings.login_path(root=True, path=str(file)) == "/sbin:/bin"
    assert settings.login_path(root=False, path=str(file)) == "/bin:/games"
    assert settings.login_path(root=False, path=str(tmp_path / "none")) == "/usr/local/bin:/usr/bin:/bin"


@pytest.mark.case("F120")
def test_a_variable_that_is_to_be_passed_on_and_is_missing_is_named_and_never_an_empty_one() -> None:
    wanted = settings.Settings(pass_env=("DATABASE_URL", "TOKEN"))
    there = {"DATABASE_URL": "postgres://db", "TOKEN": "", "OTHER": "x"}

    assert settings.passed_environment(wanted, there, "jobd.toml") == {"DATABASE_URL": "postgres://db", "TOKEN": ""}
    with pytest.raises(InvalidInput) as caught:
        settings.passed_environment(wanted, {"DATABASE_URL": "x"}, "jobd.toml")
    assert "names TOKEN, which is not in the environment of jobd" in caught.value.message
