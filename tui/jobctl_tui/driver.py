"""Textual's driver, made to end with its terminal (`jobctl_tui.terminal` says why)."""

import contextlib
import os
import select
from codecs import getincrementaldecoder
from typing import Any, Final, Protocol, cast

from textual._parser import ParseError
from textual._xterm_parser import XTermParser
from textual.app import App
from textual.drivers.linux_driver import LinuxDriver

from jobctl.clock import Clock
from jobctl_tui.terminal import FORGET, GREETING, Input, Output

_POLL_MS: Final = 100
#: After something was typed it is looked sooner whether that was all: an Esc is one when nothing follows it.
_SOON_MS: Final = 20
#: They write the end of a question that they do not know onto the screen.
_UNASKED: Final = ("linux", "vt1", "vt2", "cons")


class OnTerminal(Protocol):
    """The application, as the driver knows it. Its methods are called on the loop."""

    clock: Clock
    encoding: str
    """What the terminal is written in."""

    @property
    def is_leaving(self) -> bool:
        """Whether the end has begun."""

    def terminal_gone(self) -> None: ...

    def terminal_drained(self) -> None: ...


class TerminalDriver(LinuxDriver):
    """Keys come from standard input, frames go to standard output."""

    def __init__(self, app: App[Any], **options: Any) -> None:
        super().__init__(app, **options)
        self._on = cast("OnTerminal", app)
        self._output: Output | None = None
        self._is_first = True
        """Nothing has been painted yet: until the jobs are there the terminal says that they are asked for."""
        self._is_out = False
        """The terminal is somebody else's: a shell's, a pager's."""
        self._asks = not os.environ.get("TERM", "").startswith(_UNASKED)

    # ── life ─────────────────────────────────────────────────────
    def start_application_mode(self) -> None:
        self._output = Output(1, self._on.encoding, self._on.clock, self._gone, self._drained)
        first, self._is_first = self._is_first, False
        if first:
            self.write(FORGET)
        super().start_application_mode()  # type: ignore[no-untyped-call]
        if first:
            self.write(f"\x1b[1;1H {GREETING}")

    def suspend_application_mode(self) -> None:
        super().suspend_application_mode()
        self._is_out = True

    def resume_application_mode(self) -> None:
        self._is_out = False
        super().resume_application_mode()
        self._drained()

    def stop_application_mode(self) -> None:
        if not self._is_out:
            super().stop_application_mode()

    def _sigcont_application(self, *_: object) -> None:
        """Also after a STOP, of which nobody was told: the shell may have had the terminal meanwhile. How it was
        before all this is not forgotten over that."""
        if not self._auto_restart or self._on.is_leaving:
            return
        if not self._is_out:
            before = self.attrs_before
            self.disable_input()
            self.close()
            self.start_application_mode()
            self.attrs_before = before
            self._drained()
        else:
            self.resume_application_mode()

    def close(self) -> None:
        super().close()
        if self._output is not None:
            self._output.end()

    def _gone(self) -> None:
        self._tell(self._on.terminal_gone)

    def _drained(self) -> None:
        self._tell(self._on.terminal_drained)

    def _tell(self, call: Any) -> None:
        with contextlib.suppress(RuntimeError):  # the loop has ended before this thread
            self._loop.call_soon_threadsafe(call)

    def turn_mouse(self) -> bool:
        """Whether it tells us of its clicks from now on; else they are the terminal's, to select text with."""
        if self._mouse:
            self._disable_mouse_support()
            self._mouse = False
        else:
            self._mouse = True
            self._enable_mouse_support()
        return self._mouse

    @property
    def is_stalled(self) -> bool:
        """Whether the terminal takes nothing just now; the application hears when it does again."""
        return self._output is not None and self._output.is_stalled()

    # ── output ───────────────────────────────────────────────────
    def write(self, data: str) -> None:
        if self._output is not None:
            self._output.write(data)

    def _get_terminal_size(self) -> tuple[int, int]:
        """As the terminal is now: COLUMNS and LINES of the environment tell how it was for somebody else."""
        try:
            width, height = os.get_terminal_size(1)
        except OSError:
            width = height = 0
        return width or 80, height or 24

    def _request_terminal_sync_mode_support(self) -> None:
        if self._asks:
            super()._request_terminal_sync_mode_support()

    def _query_in_band_window_resize(self) -> None:
        if self._asks:
            super()._query_in_band_window_resize()

    # ── input ────────────────────────────────────────────────────
    def run_input_thread(self) -> None:
        parser = XTermParser(self._debug)
        decode = getincrementaldecoder("utf-8")("replace").decode
        typed = Input()
        poll = select.poll()
        poll.register(self.fileno, select.POLLIN)
        silent_ms = _POLL_MS
        with contextlib.suppress(EOFError, ParseError):
            while not self.exit_event.is_set():
                wait_ms = _SOON_MS if silent_ms < _POLL_MS else _POLL_MS
                if poll.poll(wait_ms):
                    silent_ms = 0
                    data = self._read()
                    if not data:
                        self._gone()
                        return
                    if words := typed.feed(decode(data)):
                        for message in parser.feed(words):
                            self.process_message(message)
                else:
                    silent_ms += wait_ms
                    if silent_ms >= _POLL_MS:
                        typed.idle()
                for message in parser.tick():
                    self.process_message(message)
            list(parser.feed(""))

    def _read(self) -> bytes:
        """Nothing: the terminal is gone."""
        try:
            return os.read(self.fileno, 4096)
        except OSError:
            return b""
