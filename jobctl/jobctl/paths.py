"""Where things are: docs/operations.md, "Places". Pure: the environment and the user are passed in.

| | system daemon (root) | user daemon | JOBCTL_HOME=DIR |
|---|---|---|---|
| config | /etc/jobctl | $XDG_CONFIG_HOME/jobctl | DIR/config |
| state | /var/lib/jobctl | $XDG_STATE_HOME/jobctl | DIR/state |
| socket | /run/jobctl/jobd.sock | state, linked from $XDG_RUNTIME_DIR/jobctl | DIR/run/jobd.sock |
"""

import os
from collections.abc import Mapping
from typing import NamedTuple

from jobctl.errors import InvalidInput

#: sun_path of a Unix socket holds 108 bytes with its closing NUL (unix(7)).
SOCKET_PATH_BYTES_MAX = 107


class Places(NamedTuple):
    """The folders and files of one daemon."""

    config_dir: str
    state_dir: str
    socket: str
    socket_link: str | None
    system: bool
    home: str | None = None
    """JOBCTL_HOME: it is a trial."""
    socket_named: bool = False
    """JOBCTL_SOCKET: its folder may be one of others' too."""

    @property
    def config_file(self) -> str:
        return os.path.join(self.config_dir, "jobd.toml")

    @property
    def jobs_dir(self) -> str:
        """The files of declared jobs: jobs.toml(5)."""
        return os.path.join(self.config_dir, "jobs.d")

    @property
    def database(self) -> str:
        return os.path.join(self.state_dir, "jobctl.db")

    @property
    def lock_file(self) -> str:
        return os.path.join(self.state_dir, "jobd.lock")

    @property
    def log_file(self) -> str:
        return os.path.join(self.state_dir, "jobd.log")

    @property
    def runs_dir(self) -> str:
        return os.path.join(self.state_dir, "runs")

    @property
    def runner_dir(self) -> str:
        return os.path.join(self.state_dir, "runner")


def daemon_places(environ: Mapping[str, str], uid: int) -> Places:
    """The places of the daemon that this user runs."""
    home = environ.get("JOBCTL_HOME")
    if home:
        root = os.path.abspath(home)
        run = os.path.join(root, "run", "jobd.sock")
        return Places(os.path.join(root, "config"), os.path.join(root, "state"), run, None, uid == 0, root)
    if uid == 0:
        return Places("/etc/jobctl", "/var/lib/jobctl", "/run/jobctl/jobd.sock", None, system=True)
    return _user_places(environ)


def _user_places(environ: Mapping[str, str]) -> Places:
    state = os.path.join(_xdg(environ, "XDG_STATE_HOME", ".local/state"), "jobctl")
    config = os.path.join(_xdg(environ, "XDG_CONFIG_HOME", ".config"), "jobctl")
    runtime = environ.get("XDG_RUNTIME_DIR", "")
    link = os.path.join(runtime, "jobctl", "jobd.sock") if os.path.isabs(runtime) else None
    return Places(config, state, os.path.join(state, "jobd.sock"), link, system=False)


def _xdg(environ: Mapping[str, str], name: str, default: str) -> str:
    value = environ.get(name, "")
    if os.path.isabs(value):  # the specification: relative values are ignored
        return value
    home = environ.get("HOME", "")
    if not os.path.isabs(home):
        raise InvalidInput("HOME is not set to a folder", "set HOME, or JOBCTL_HOME to a folder for everything")
    return os.path.join(home, default)


def client_sockets(environ: Mapping[str, str], uid: int, explicit: str | None = None) -> list[str]:
    """The sockets a client tries, in order: --socket, JOBCTL_SOCKET, JOBCTL_HOME, the user's, the system's."""
    if explicit:
        return [explicit]
    if environ.get("JOBCTL_SOCKET"):
        return [environ["JOBCTL_SOCKET"]]
    own = daemon_places(environ, uid).socket
    if environ.get("JOBCTL_HOME"):
        return [own]
    system = "/run/jobctl/jobd.sock"
    return [own] if own == system else [own, system]


def checked_socket_path(path: str) -> str:
    """`path`, or `InvalidInput` when the kernel could not bind or reach it."""
    size = len(os.fsencode(path))
    if size > SOCKET_PATH_BYTES_MAX:
        raise InvalidInput(
            f"the socket path has {size} bytes, the kernel takes {SOCKET_PATH_BYTES_MAX}: {path}",
            "choose a shorter folder with JOBCTL_HOME or JOBCTL_SOCKET",
        )
    return path
