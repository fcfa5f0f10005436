"""`jobctl ui` becomes this program. It looks at the terminal before anything large is loaded."""

import argparse
import contextlib
import gc
import os
import sys
from collections.abc import Iterator, Sequence
from typing import Final, NoReturn

from jobctl.client.discover import AnyDaemon, places
from jobctl.clock import SystemClock
from jobctl.errors import InternalError, InvalidInput, JobctlError
from jobctl.paths import daemon_places
from jobctl.reading.safe import cell
from jobctl_tui.leaving import Leaving, report, words_of
from jobctl_tui.settings import LOOKS, Settings, config_file, read_settings
from jobctl_tui.terminal import FORGET, GREETING, unfit

#: A key that comes later than this after Esc is a key of its own, and no alt: here, and over ssh.
_ESCAPE_MS: Final = 30
_ESCAPE_FAR_MS: Final = 100


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    options = _parser().parse_args(arguments)
    try:
        settings = _settings(options)
        if options.print_keys:
            _print_keys(settings)
            _end(0)
        why = unfit(os.environ)
        if why is not None:
            raise InvalidInput(why, "jobctl status --watch, which needs none")
        code = _screens(options, settings)
    except JobctlError as error:  # as the command line says it
        _tell(f"error: {cell(error.message)}\n" + (f"  try:  {cell(error.hint)}\n" if error.hint else ""))
        code = error.exit_code
    _end(code)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="jobctl ui", add_help=False)
    parser.add_argument("--socket")
    parser.add_argument("--theme", choices=LOOKS)
    parser.add_argument("--ascii", action="store_true")
    parser.add_argument("--no-mouse", action="store_true")
    parser.add_argument("--read-only", action="store_true")
    parser.add_argument("--utc", action="store_true")
    parser.add_argument("--print-keys", action="store_true")
    return parser


def _settings(options: argparse.Namespace) -> Settings:
    """The options of the command line before those of the file."""
    found = read_settings(config_file(os.environ))
    return Settings(
        theme=options.theme or found.theme,
        ascii=True if options.ascii else found.ascii,
        mouse=found.mouse and not options.no_mouse,
        read_only=found.read_only or options.read_only,
        keys=found.keys,
    )


def _screens(options: argparse.Namespace, settings: Settings) -> int:
    sockets = places(os.environ, os.getuid(), options.socket).sockets
    leaving = Leaving()
    clock = SystemClock()
    state_dir = _state_dir()
    crash: BaseException | None = None
    last: list[str] = []
    try:
        _greet(GREETING)
        _own_textual()
        with _escape_delay():
            from jobctl_tui.start import started

        crash, code, last = started(AnyDaemon(sockets), clock, settings, state_dir, leaving, utc=options.utc)
    except Exception as error:  # the border: one line, and an exit code
        _greet(FORGET)
        if isinstance(error, JobctlError):
            raise
        crash, code = error, InternalError.exit_code
    if leaving.code is not None:
        code = leaving.code
    if crash is not None:
        leaving.restore()
        line, path = report(crash, state_dir, clock.now_ms())
        _say(f"this is a bug of jobctl ui: {line}" + (f"; more in {path}" if path else ""))
        return InternalError.exit_code
    words = words_of(code)
    for line in [words] if words is not None else last:
        _say(line)
    return code


def _greet(words: str) -> None:
    with contextlib.suppress(OSError):
        os.write(1, words.encode())


def _own_textual() -> None:
    """Its variables are for those who write programs with it. Of the keyboard protocol of kitty a program that is
    killed leaves a terminal in which nobody can type."""
    for name in [name for name in os.environ if name.partition("_")[0] == "TEXTUAL"]:
        del os.environ[name]
    os.environ["TEXTUAL_DISABLE_KITTY_KEY"] = "1"
    gc.set_threshold(50_000)


@contextlib.contextmanager
def _escape_delay() -> Iterator[None]:
    """For Textual, which reads it once; $EDITOR and the pager get what was there. Of this host's own terminal all bytes
    of a key come at once; over a network they may come in pieces."""
    if "ESCDELAY" in os.environ:
        yield
        return
    os.environ["ESCDELAY"] = str(_ESCAPE_FAR_MS if "SSH_CONNECTION" in os.environ else _ESCAPE_MS)
    try:
        yield
    finally:
        del os.environ["ESCDELAY"]


def _state_dir() -> str | None:
    try:
        return daemon_places(os.environ, os.getuid()).state_dir
    except InvalidInput:
        return None


def _print_keys(settings: Settings) -> None:
    from jobctl_tui.keys import Keymap

    for action in Keymap(settings.keys, read_only=settings.read_only).actions:
        sys.stdout.write(f"{action.id:<20} {action.scope.value:<11} {' '.join(action.keys):<26} {action.help}\n")


def _say(words: str) -> None:
    _tell(f"jobctl: {cell(words)}\n")


def _tell(text: str) -> None:
    with contextlib.suppress(OSError):  # the terminal may be what is gone
        sys.stderr.write(text)


def _end(code: int) -> NoReturn:
    """Without waiting for threads: one may be waiting for a daemon that does not answer."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)


if __name__ == "__main__":
    main()
