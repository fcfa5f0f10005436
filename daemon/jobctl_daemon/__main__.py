"""jobd(8): flags → settings → the daemon. It goes into the background unless told otherwise, or under systemd."""

import argparse
import asyncio
import faulthandler
import os
import signal
import sys
from collections.abc import Callable, Sequence
from typing import Final

import structlog
from msgspec import structs

from jobctl import __version__
from jobctl.clock import Clock, SystemClock
from jobctl.errors import Conflict, InternalError, InvalidInput, JobctlError, Unavailable
from jobctl.paths import Places, checked_socket_path, daemon_places
from jobctl_daemon import filesystem, first, holder, inherited, journal, settings, standby
from jobctl_daemon.api import listen
from jobctl_daemon.background import Starter
from jobctl_daemon.build import build_id
from jobctl_daemon.disk import refused_start
from jobctl_daemon.ending_loop import EndingLoop
from jobctl_daemon.holder import Holder
from jobctl_daemon.limits import must_have_descriptors
from jobctl_daemon.notify import Supervisor
from jobctl_daemon.turns import Turns

_CLOCK: Final[Clock] = SystemClock()
#: As shells say it of SIGINT.
_INTERRUPTED: Final = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code: 0 after a clean stop; an error's own code when it could not start, or not go on.

    In the background whoever started it ends with the same code.
    """
    inherited.make_usual()
    options = _options(arguments)
    if options.foreground:
        first.stand_before()
    starter = Starter()
    code = _code(options, starter)
    starter.ended(code)
    return code


def _code(options: argparse.Namespace, starter: Starter) -> int:
    try:
        return _start(options, starter)
    except JobctlError as error:
        print(f"jobd: {error.message}", file=sys.stderr)  # noqa: T201 - there is no log yet
        if error.hint:
            print(f"  {error.hint}", file=sys.stderr)  # noqa: T201
        return error.exit_code
    except OSError as error:
        print(f"jobd: it cannot start: {error}", file=sys.stderr)  # noqa: T201
        return Unavailable.exit_code
    except KeyboardInterrupt:  # before the loop has a handler of its own
        print("jobd: interrupted while it started", file=sys.stderr)  # noqa: T201
        return _INTERRUPTED


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="jobd", description="The daemon of jobctl: see jobd(8).")
    parser.add_argument("--foreground", action="store_true", help="stay in the foreground and log to stderr")
    parser.add_argument("--standby", action="store_true", help="when a daemon runs already: take over when it is gone")
    parser.add_argument(
        "--echo",
        nargs="?",
        const="lines",
        choices=settings.ECHOES,
        help="what commands print, on standard output too: lines (with their job in front), plain, json, off",
    )
    parser.add_argument("--config", metavar="FILE", help="read FILE instead of jobd.toml in the config folder")
    parser.add_argument("--version", action="version", version=f"jobd {__version__} (build {build_id()})")
    return parser.parse_args(arguments)


def _start(options: argparse.Namespace, starter: Starter) -> int:
    must_have_descriptors()
    uid = os.geteuid()
    places = daemon_places(os.environ, uid)
    if os.environ.get("JOBCTL_SOCKET"):
        places = _at_socket(places, os.path.abspath(os.environ["JOBCTL_SOCKET"]))
    checked_socket_path(places.socket)
    config_file = options.config or places.config_file
    wanted = settings.read(config_file)
    settings.passed_environment(wanted, os.environ, config_file)
    wanted = structs.replace(wanted, echo=_echo(options, wanted.echo))
    os.umask(0o077)
    # A reload that comes before the daemon is up is nothing to die of. A handler, unlike SIG_IGN, ends with an exec.
    signal.signal(signal.SIGHUP, lambda *_: None)
    try:
        return _prepared(options, starter, places, config_file, wanted, uid)
    except OSError as error:
        raise refused_start(places.state_dir, places.database, wanted.low_disk_bytes, error) from error


def _echo(options: argparse.Namespace, setting: str) -> str:
    """What is settled at the start: in the background there is no standard output that anybody reads."""
    stays = options.foreground or bool(os.environ.get("NOTIFY_SOCKET"))
    if options.echo is not None and not stays:
        raise InvalidInput("--echo needs a standard output", "run jobd in the foreground: --foreground --echo")
    wanted: str = options.echo or setting
    if wanted == "auto":
        wanted = "lines" if first.stands_before() else "off"
    return wanted if stays else "off"


def _prepared(
    options: argparse.Namespace, starter: Starter, places: Places, config_file: str, wanted: settings.Settings, uid: int
) -> int:
    if places.system and places.home:
        filesystem.make_home(places.home)
    filesystem.prepare(places.state_dir)
    stay = options.foreground or bool(os.environ.get("NOTIFY_SOCKET"))
    log_file = None if stay else places.log_file
    # The lock is taken before the fork so that a refusal reaches the caller; flock(2) goes with the descriptor.
    try:
        held = holder.lock(places.lock_file)
    except Conflict:
        if not options.standby:
            raise
        return _stand_by(places, config_file, wanted, uid, None if stay else starter, log_file)
    listen.must_be_free(places.socket)
    if not stay:
        starter.detach()
    _configure(wanted, log_file)
    return _run(held, places, config_file, wanted, uid, starter.ready)


def _stand_by(
    places: Places, config_file: str, wanted: settings.Settings, uid: int, starter: Starter | None, log_file: str | None
) -> int:
    """In the background the starter returns as soon as it waits."""
    import jobctl_daemon.app  # noqa: F401 - all of it, now: not when every millisecond is without a daemon

    if starter is not None:
        starter.detach()
    _configure(wanted, log_file)
    supervisor = Supervisor.of(os.environ, os.getpid())

    def waits() -> None:
        log = structlog.get_logger()
        log.info("daemon.standing_by", version=__version__, pid=os.getpid(), holder=holder.words(places.lock_file))
        supervisor.ready(f"standing by, pid {os.getpid()}; {holder.words(places.lock_file)}")
        if starter is not None:
            starter.ready()

    held = standby.wait(places.lock_file, supervisor, waits)
    if held is None:
        return 0
    structlog.get_logger().info("daemon.takes_over", pid=os.getpid(), holder=holder.words(places.lock_file))
    try:
        wanted = structs.replace(settings.read(config_file), echo=wanted.echo)
    except InvalidInput as error:  # better with the settings of before than not at all
        structlog.get_logger().error("daemon.reload_failed", error=error.message)
    return _run(held, places, config_file, wanted, uid, _nothing)


def _run(
    held: int,
    places: Places,
    config_file: str,
    wanted: settings.Settings,
    uid: int,
    on_ready: Callable[[], None],
) -> int:
    # First of all: who is turned away now is told who holds the lock.
    holder.name_holder(held, places.lock_file, Holder(os.getpid(), _CLOCK.now_ms(), __version__, places.socket))
    # Imported late: a second daemon, a bad setting and --version need none of it.
    from jobctl_daemon.app import Daemon, Setup

    turns = Turns(_CLOCK, _blocked)
    began = False

    def ready() -> None:
        nonlocal began
        began = True
        on_ready()

    async def run() -> None:
        await Daemon(Setup(places, config_file, wanted, _CLOCK, uid, ready, turns.busy)).run()

    try:
        with asyncio.Runner(loop_factory=lambda: EndingLoop(turns)) as runner:
            runner.run(run())
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # the border of the program: one line for the people, all of it for the log
        error = _single(error)
        if not began:
            error = refused_start(places.state_dir, places.database, wanted.low_disk_bytes, error)
        raise _told(error) from error
    return 0


def _configure(wanted: settings.Settings, log_file: str | None) -> None:
    journal.configure(_CLOCK, wanted.log_level, log_file)
    if log_file is None:  # a watchdog ends the daemon with ABRT: then standard error says where each thread was
        faulthandler.enable()


def _blocked(ms: int) -> None:
    structlog.get_logger().warning("loop.blocked", ms=ms)


def _told(error: BaseException) -> JobctlError:
    """The error in our words. Logged as well: in the background nobody may be left to read standard error."""
    if isinstance(error, JobctlError):
        structlog.get_logger().critical("daemon.failed", error=error.message, hint=error.hint)
        return error
    text = f"{type(error).__name__}: {error}"
    structlog.get_logger().critical("daemon.failed", error=text, exc_info=error)
    return InternalError(f"it failed: {text}", "its log has the details; please report it")


def _single(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _at_socket(places: Places, path: str) -> Places:
    return places._replace(socket=path, socket_link=None, socket_named=True)


def _nothing() -> None:
    return None


if __name__ == "__main__":
    raise SystemExit(main())
