"""Completions in real shells: somebody types the beginning of a line, TAB and Enter; jobctl gets the whole words."""

import fcntl
import json
import os
import pty
import select
import shutil
import signal
import struct
import sys
import termios
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from jobctl.cli.completion import SCRIPTS
from unit.client.fake_daemon import FakeDaemon, job

#: TAB is the real program's; Enter only shows what it was called with.
PROGRAM: Final = """#!{python} -I
import json, sys
if sys.argv[1:2] != ["__complete"]:
    print("<<" + json.dumps(sys.argv[1:]) + ">>", flush=True)
    raise SystemExit
sys.path.insert(0, {package!r})
from jobctl.cli.main import main
main()
"""
ZSHRC: Final = "PS1='$ '\nfpath=({stage}/functions $fpath)\nautoload -U compinit\ncompinit -u -D\n"
BASHRC: Final = "PS1='$ '\n. {stage}/completion.bash\n"
START: Final = {
    "bash": ["bash", "--noprofile", "--rcfile", "{stage}/bashrc", "-i"],
    "zsh": ["zsh", "-i"],
    "fish": ["fish", "-i"],
}
#: What is typed before TAB, and what jobctl is called with.
TYPED: Final = (
    ("jobctl dlq rep", ["dlq", "replay"]),
    ("jobctl help dlq rep", ["help", "dlq", "replay"]),
    ("jobctl add --retr", ["add", "--retries"]),
    ("jobctl ls --state qu", ["ls", "--state", "quarantined"]),
    ("jobctl ls --state=qu", ["ls", "--state=quarantined"]),
    ("jobctl show ba", ["show", "backup"]),
    ("jobctl show w", ["show", "weekly report"]),
    ("jobctl show weekly\\ r", ["show", "weekly report"]),
    ("jobctl show 'we", ["show", "weekly report"]),
    ('jobctl show "we', ["show", "weekly report"]),
    ("jobctl show s", ["show", "s:y@n/c+"]),
    ("jobctl show s:y", ["show", "s:y@n/c+"]),
    ("jobctl show 's:", ["show", "s:y@n/c+"]),
    ("jobctl show s:y@", ["show", "s:y@n/c+"]),
    ("X=1 jobctl show w", ["show", "weekly report"]),
    ("true; jobctl show w", ["show", "weekly report"]),
    ("jobctl validate mi", ["validate", "mine.toml"]),
    ("jobctl run backup -- ./mi", ["run", "backup", "--", "./mine.toml"]),
    ("jobctl run --env-file mi", ["run", "--env-file", "mine.toml"]),
    # where a job or a run is expected, a file is none
    ("jobctl show mi", ["show", "mi"]),
    ("jobctl dlq replay mi", ["dlq", "replay", "mi"]),
)


class Shell:
    """A shell on a terminal of its own."""

    def __init__(self, name: str, stage: Path, socket: str) -> None:
        environ = {"PATH": f"{stage}/bin:/usr/local/bin:/usr/bin:/bin", "HOME": str(stage), "ZDOTDIR": str(stage),
                   "TERM": "xterm", "LC_ALL": "C.UTF-8", "JOBCTL_SOCKET": socket}  # fmt: skip
        self.pid, self._terminal = pty.fork()
        if self.pid == 0:
            os.chdir(stage)
            arguments = [word.format(stage=stage) for word in START[name]]
            os.execvpe(arguments[0], arguments, environ)
        fcntl.ioctl(self._terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 200, 0, 0))

    def called_with(self, typed: str) -> list[str]:
        """The words that jobctl gets of a line that is typed, completed and sent off."""
        os.write(self._terminal, f"{typed}\t\n".encode())
        shown = b""
        while b">>" not in shown:
            ready, _, _ = select.select([self._terminal], [], [], 20)
            assert ready, (typed, shown)
            shown += os.read(self._terminal, 65_536)
        words: list[str] = json.loads(shown.partition(b"<<")[2].partition(b">>")[0])
        return words

    def close(self) -> None:
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self._terminal)


@pytest.fixture(params=list(SCRIPTS))
def shell(request: pytest.FixtureRequest, tmp_path: Path, daemon: FakeDaemon) -> Iterator[Shell]:
    name: str = request.param
    if shutil.which(name) is None:
        pytest.skip(f"there is no {name} on this host")
    daemon.jobs = [job(1, "backup"), job(2, "weekly report"), job(3, "s:y@n/c+")]
    package = str(Path(__file__).parents[3] / "jobctl")
    for file, text in {
        "bin/jobctl": PROGRAM.format(python=sys.executable, package=package),
        "functions/_jobctl": SCRIPTS["zsh"],
        "completion.bash": SCRIPTS["bash"],
        "bashrc": BASHRC.format(stage=tmp_path),
        ".zshrc": ZSHRC.format(stage=tmp_path),
        ".config/fish/completions/jobctl.fish": SCRIPTS["fish"],
        "mine.toml": "",
    }.items():
        path = tmp_path / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tmp_path / "bin" / "jobctl").chmod(0o755)
    made = Shell(name, tmp_path, daemon.path)
    try:
        yield made
    finally:
        made.close()


@pytest.mark.long
def test_a_shell_completes_what_is_typed(shell: Shell) -> None:
    assert [(typed, shell.called_with(typed)) for typed, _ in TYPED] == list(TYPED)
