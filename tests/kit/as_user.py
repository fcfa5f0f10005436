"""Asks a daemon as a user of the host, and a command that tells what it was started with."""

import json
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kit.accounts import Account
from kit.daemon import Json, RealDaemon

_ASK = """
import json, sys
from jobctl.client.sync import Client
from jobctl.client.transport import UnixTransport
socket, method, arguments, words = sys.argv[1:]
answer = getattr(Client(UnixTransport(socket)), method)(*json.loads(arguments), **json.loads(words))
print(json.dumps(answer))
"""
_TELL = """
import json, os, resource, sys
status = dict(line.split(":\\t", 1) for line in open("/proc/self/status").read().splitlines() if ":\\t" in line)
umask = os.umask(0)
print(json.dumps({
    "uids": os.getresuid(), "gids": os.getresgid(), "groups": sorted(os.getgroups()), "umask": umask,
    "cwd": os.getcwd(), "env": dict(os.environ), "argv": sys.argv[1:],
    "fds": {n: os.readlink("/dev/fd/" + n) for n in os.listdir("/proc/self/fd") if os.path.exists("/dev/fd/" + n)},
    "session": os.getsid(0) == os.getppid() or os.getsid(0) == os.getpid(), "group": os.getpgrp() == os.getsid(0),
    "capabilities": [status[name].strip() for name in ("CapInh", "CapPrm", "CapEff", "CapAmb")],
    "nice": os.nice(0), "cpus": sorted(os.sched_getaffinity(0)), "oom": open("/proc/self/oom_score_adj").read().strip(),
    "policy": os.sched_getscheduler(0),
    "limits": {n: resource.getrlimit(getattr(resource, n)) for n in dir(resource) if n.startswith("RLIMIT_")},
}))
"""
#: It prints what it was started with as one line of JSON.
TELL = ["/usr/bin/python3", "-S", "-c", _TELL]


def ask(daemon: RealDaemon, user: Account, method: str, *arguments: Any, **words: Any) -> Any:
    """What the client's method gives to that user."""
    done = user.run(sys.executable, "-c", _ASK, daemon.socket, method, json.dumps(arguments), json.dumps(words))
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def job_of(daemon: RealDaemon, user: Account, name: str, command: list[str] | str, **fields: Any) -> Json:
    """A job that the user has made, run by hand only."""
    target = {"shell": command} if isinstance(command, str) else {"command": command}
    made: Json = ask(daemon, user, "create_job", {"name": name, "target": target, **fields})
    return made


def told(daemon: RealDaemon, run: Json) -> Json:
    """What TELL printed."""
    ended = daemon.finished(run)
    text = daemon.output(ended)
    assert ended["state"] == "succeeded", (ended, text)
    found: Json = json.loads(text)
    return found


@contextmanager
def open_home() -> Iterator[Path]:
    """A folder for a daemon whose socket users can reach; those of pytest are private."""
    with tempfile.TemporaryDirectory(prefix="jt.", dir="/tmp") as folder:
        os.chmod(folder, 0o755)
        yield Path(folder) / "home"
