"""jobd(8): flags → settings → the daemon. It goes into the background unless told otherwise, or under systemd."""

import argparse
import asyncio
import os
import signal
import sys
from collections.abc import Callable, Sequence

from jobctl import __version__
from jobctl.clock import SystemClock
from jobctl.errors import InternalError, JobctlError, Unavailable
from jobctl.paths import Places, checked_socket_path, daemon_places
from jobctl_daemon import filesystem, journal, settings
from jobctl_daemon.background import detach
from jobctl_daemon.build import build_id


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code: 0 after a clean stop; an error's own code when it could not start."""
    options = _options(arguments)
    try:
        return _start(options)
    except JobctlError as error:
        print(f"jobd: {error.message}", file=sys.stderr)  # noqa: T201 - there is no log yet
        if error.hint:
            print(f"  {error.hint}", file=sys.stderr)  # noqa: T201
        return error.exit_code
    except OSError as error:
        print(f"jobd: it cannot start: {error}", file=sys.stderr)  # noqa: T201
        return Unavailable.exit_code


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="jobd", description="The daemon of jobctl: see jobd(8).")
    parser.add_argument("--foreground", action="store_true", help="stay in the foreground and log to stderr")
    parser.add_argument("--config", metavar="FILE", help="read FILE instead of jobd.toml in the config folder")
    parser.add_argument("--version", action="version", version=f"jobd {__version__} (build {build_id()})")
    return parser.parse_args(arguments)


def _start(options: argparse.Namespace) -> int:
    uid = os.geteuid()
    places = daemon_places(os.environ, uid)
    if os.environ.get("JOBCTL_SOCKET"):
        places = _at_socket(places, os.path.abspath(os.environ["JOBCTL_SOCKET"]))
    checked_socket_path(places.socket)
    config_file = options.config or places.config_file
    wanted = settings.read(config_file)
    os.umask(0o077)
    # A reload that comes before the daemon is up is nothing to die of. A handler, unlike SIG_IGN, ends with an exec.
    signal.signal(signal.SIGHUP, lambda *_: None)
    filesystem.prepare(places.state_dir)
    stay = options.foreground or bool(os.environ.get("NOTIFY_SOCKET"))
    # The lock is taken before the fork so that a refusal reaches the caller; flock(2) goes with the descriptor.
    held = filesystem.lock(places.lock_file)
    on_ready: Callable[[], None] = _nothing if stay else detach()
    filesystem.name_holder(held, os.getpid())
    journal.configure(SystemClock(), wanted.log_level, None if stay else places.log_file)
    return _run(places, config_file, wanted, uid, on_ready)


def _run(places: Places, config_file: str, wanted: settings.Settings, uid: int, on_ready: Callable[[], None]) -> int:
    # Imported late: a second daemon, a bad setting and --version need none of it.
    from jobctl_daemon.app import Daemon, Setup

    async def run() -> None:
        setup = Setup(places, config_file, wanted, SystemClock(), uid, on_ready)
        await Daemon(setup).run()

    try:
        asyncio.run(run())
    except* JobctlError as group:
        raise _first(group) from group
    return 0


def _first(group: BaseExceptionGroup[JobctlError]) -> JobctlError:
    for error in group.exceptions:
        if isinstance(error, BaseExceptionGroup):
            return _first(error)
        return error
    return InternalError("the daemon failed")


def _at_socket(places: Places, path: str) -> Places:
    return Places(places.config_dir, places.state_dir, path, None, places.system, places.home)


def _nothing() -> None:
    return None


if __name__ == "__main__":
    raise SystemExit(main())
