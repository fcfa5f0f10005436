"""The screens without a terminal: driven by keys, read as characters and as styles.

    async with screens(client, size=(80, 24)) as ui:
        await ui.until(lambda: "backup-db" in ui.text())
        await ui.press("j", "l")
        await ui.snapshot("jobs")

A snapshot is the characters of the screen, and below it for each line which stretch of columns has which style, by
names: `JOBCTL_UPDATE_SNAPSHOTS=1` writes it, a test compares it. In a run of all each is compared at one size in
colour (`VIEWS`); the others take long together.
"""

import asyncio
import contextlib
import os
import time
from collections.abc import AsyncIterator, Callable, Iterable
from datetime import UTC, tzinfo
from pathlib import Path
from typing import Any

import pytest
from rich.style import Style
from textual import events
from textual.css.model import RuleSet
from textual.css.stylesheet import Stylesheet
from textual.geometry import Size
from textual.keys import _character_to_key, key_to_character
from textual.pilot import Pilot

from jobctl.client.sync import Client
from jobctl.clock import Clock, SystemClock
from jobctl_tui.app import Screens, Setup
from jobctl_tui.settings import Settings
from jobctl_tui.theme import ANSI, DARK, LIGHT, MONO
from jobctl_tui.words.glyphs import ASCII, UTF8
from jobctl_tui.words.when import When

SNAPSHOTS = Path(__file__).parent.parent / "screens" / "snap"
#: What is waited for comes within so long, or not at all.
PATIENCE_S = 30
SIZES = ((60, 15), (80, 24), (120, 40))
USUAL = ((80, 24), "colour")
VIEWS = [
    pytest.param(size, look, id=f"{size[0]}x{size[1]}-{look}", marks=() if number == 0 else pytest.mark.long)
    for number, (size, look) in enumerate(
        sorted(((size, look) for look in ("colour", "mono") for size in SIZES), key=lambda view: view != USUAL)
    )
]
SHAPES = [pytest.param(size, marks=() if size == USUAL[0] else pytest.mark.long) for size in SIZES]
LOOKS = {"colour": DARK, "mono": MONO, "light": LIGHT, "ansi": ANSI}


class NotShown(AssertionError):
    """A line is not on the screen, or not yet."""


class Shown:
    """An application that runs, and what is on its screen."""

    def __init__(self, app: Screens, pilot: Pilot[None], size: tuple[int, int], look: str) -> None:
        self.app = app
        self.pilot = pilot
        self.size = size
        self.look = look

    async def press(self, *keys: str) -> None:
        """One after the other, each when all that followed from the one before is done, as far as it comes from no
        thread."""
        for key in keys:
            self._type(key)
            await self.settle()

    async def press_at_once(self, *keys: str) -> None:
        """All in one read, as when somebody types faster than the screens are."""
        for key in keys:
            self._type(key)
        await self.settle()

    def _type(self, key: str) -> None:
        driver: Any = self.app._driver
        name = key if len(key) > 1 or key.isalnum() else _character_to_key(key)
        driver.send_message(events.Key(name, key if len(key) == 1 else key_to_character(name)))

    async def resize(self, width: int, height: int) -> None:
        self.size = (width, height)
        driver: Any = self.app._driver
        driver._size = Size(width, height)
        self.app.post_message(events.Resize(driver._size, driver._size))
        await self.settle()

    async def settle(self) -> None:
        """Returns when nothing is left to do but what a thread or the time brings, and all of it is painted."""
        for _ in range(2):
            await _idle()
            if self.app.is_running and self.app.screen_stack:
                self.app.screen._on_timer_update()
        await _idle()

    async def until(self, holds: Callable[[], Any], why: str = "") -> Any:
        """The first answer that holds, also when everything has settled; what is waited for comes from threads, so
        time passes in between."""
        deadline = time.monotonic() + PATIENCE_S
        pause_s = 0.002
        while True:
            await self.settle()
            with contextlib.suppress(NotShown):
                if found := holds():
                    return found
            assert time.monotonic() < deadline, f"{why or holds}: it does not come:\n{self.text()}"
            await asyncio.sleep(pause_s)
            pause_s = min(pause_s * 2, 0.05)

    async def shows(self, words: str) -> None:
        await self.until(lambda: words in self.text(), f"{words!r} is not shown")

    async def under_cursor(self) -> str:
        """The row that is highlighted, once the rows are here; none where its mark covers the sign of the cursor."""
        await self.until(lambda: not getattr(getattr(self.app.pane, "window", None), "loading", False))
        return next((line for line in self.lines() if line.startswith("▌")), "")

    # ── reading ──────────────────────────────────────────────────
    def lines(self) -> list[str]:
        return text(self.app)

    def text(self) -> str:
        return "\n".join(self.lines())

    def line_with(self, words: str) -> str:
        for line in self.lines():
            if words in line:
                return line
        raise NotShown(f"{words!r} is not shown:\n{self.text()}")

    def style_of(self, words: str) -> str:
        """The styles of some words on the screen, as a snapshot names them."""
        for row, line in enumerate(self.lines()):
            at = line.find(words)
            if at >= 0:
                return _style_at(self.app, row, at)
        raise NotShown(f"{words!r} is not shown:\n{self.text()}")

    async def snapshot(self, name: str) -> None:
        """Compared when everything has come that is on it."""
        width, height = self.size
        path = SNAPSHOTS / f"{name}-{width}x{height}-{self.look}.txt"
        if not os.environ.get("JOBCTL_UPDATE_SNAPSHOTS") and path.exists():
            wanted = path.read_text(encoding="utf-8")
            with contextlib.suppress(AssertionError):
                await self.until(lambda: drawn(self.app) == wanted)
        else:
            await self.pilot.pause(0.3)
        compare(path, drawn(self.app))


async def _idle() -> None:
    """Until the loop has nothing to do at once: whoever ran since has set nothing else going. Cheaper than the pilot's
    watch on the time of the processor, and not a matter of how busy the machine is."""
    ready: Any = asyncio.get_running_loop()._ready  # type: ignore[attr-defined]
    await asyncio.sleep(0)
    while ready:
        await asyncio.sleep(0)


def _parsed_once(parse: Callable[..., list[RuleSet]]) -> Callable[..., list[RuleSet]]:
    """The same text under the same look is parsed once in a process, not at each start and each change of looks."""
    known: dict[tuple[Any, ...], list[RuleSet]] = {}

    def rules(sheet: Stylesheet, css: str, *args: Any, **kwargs: Any) -> list[RuleSet]:
        key = (frozenset(sheet._variables.items()), css, args, frozenset(kwargs.items()))
        if key not in known:
            known[key] = parse(sheet, css, *args, **kwargs)
        return known[key]

    return rules


Stylesheet._parse_rules = _parsed_once(Stylesheet._parse_rules)  # type: ignore[method-assign]


@contextlib.asynccontextmanager
async def screens(
    client: Client | Callable[[], Client],
    size: tuple[int, int] = (80, 24),
    look: str = "colour",
    *,
    clock: Clock | None = None,
    zone: tzinfo = UTC,
    ascii_only: bool = False,
    read_only: bool = False,
    keys: dict[str, tuple[str, ...]] | None = None,
    state_dir: Path | None = None,
    tab: str | None = None,
) -> AsyncIterator[Shown]:
    """An application on a daemon, or on whatever answers as one."""
    settings = Settings(read_only=read_only, keys=keys or {})
    setup = Setup(
        connect=client if callable(client) and not isinstance(client, Client) else lambda: client,
        clock=clock or SystemClock(),
        theme=LOOKS[look],
        glyphs=ASCII if ascii_only else UTF8,
        when=When(local=zone),
        settings=settings,
        host="prod-db1",
        state_dir=str(state_dir) if state_dir is not None else None,
    )
    app = Screens(setup)
    async with app.run_test(size=size) as pilot:
        shown = Shown(app, pilot, size, look)
        if tab is not None:
            await shown.press(str(["jobs", "runs", "upcoming", "dead", "daemon"].index(tab) + 1))
        await shown.settle()
        yield shown


# ── what is on a screen ──────────────────────────────────────
def text(app: Screens) -> list[str]:
    """The characters, line by line, without spaces at the ends."""
    return ["".join(segment.text for segment in line).rstrip() for line in _lines(app)]


def drawn(app: Screens) -> str:
    """The characters, and which stretches of them have a style of their own."""
    styles = [f"{row:>2}: {runs}" for row, line in enumerate(_lines(app)) if (runs := _runs(app, line))]
    return "\n".join([*text(app), "", "-- styles", *styles]) + "\n"


def compare(path: Path, found: str) -> None:
    if os.environ.get("JOBCTL_UPDATE_SNAPSHOTS"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(found, encoding="utf-8")
        return
    assert path.exists(), f"{path.name} is not there: write it with JOBCTL_UPDATE_SNAPSHOTS=1, and look at it"
    assert found == path.read_text(encoding="utf-8"), f"{path.name} is another:\n{found}"


def _lines(app: Screens) -> list[Any]:
    """As the compositor would send them, filters included: without colour there is none in them."""
    strips = app.screen._compositor.render_strips()
    background = app.screen.styles.background
    filters = app.get_line_filters()
    return [strip if not filters else _filtered(strip, filters, background) for strip in strips]


def _filtered(strip: Any, filters: Iterable[Any], background: Any) -> Any:
    for line_filter in filters:
        strip = strip.apply_filter(line_filter, background)
    return strip


def _runs(app: Screens, line: Any) -> str:
    """`0-9 failed bold, 12-20 dim`: what stands out, by the names of the theme's colours."""
    plain = _plain(app)
    found: list[tuple[int, int, str]] = []
    at = 0
    for segment in line:
        end = at + segment.cell_length
        name = _name(app, segment.style, plain) if segment.style else ""
        if name and found and found[-1][1] == at and found[-1][2] == name:
            found[-1] = (found[-1][0], end, name)
        elif name:
            found.append((at, end, name))
        at = end
    return ", ".join(f"{start}-{end - 1} {name}" for start, end, name in found)


def _style_at(app: Screens, row: int, column: int) -> str:
    at = 0
    for segment in _lines(app)[row]:
        at += segment.cell_length
        if column < at:
            return _name(app, segment.style, _plain(app)) if segment.style else ""
    return ""


def _plain(app: Screens) -> tuple[str, str]:
    return _hex(app.theme_variables.get("foreground", "")), _hex(app.theme_variables.get("background", ""))


def _name(app: Screens, style: Style, plain: tuple[str, str]) -> str:
    names = _names(app)
    front = _hex(style.color.name) if style.color is not None and not style.color.is_default else ""
    back = _hex(style.bgcolor.name) if style.bgcolor is not None and not style.bgcolor.is_default else ""
    parts = []
    if front and front != plain[0]:
        parts.append(names.get(front, front))
    if back and back != plain[1]:
        parts.append("on-" + names.get(back, back))
    parts += [word for word in ("bold", "dim", "italic", "underline", "reverse") if getattr(style, word)]
    return " ".join(parts)


def _names(app: Screens) -> dict[str, str]:
    """Colours by the names that the look gives them: a changed shade changes no snapshot."""
    theme = app.current_theme
    return {_hex(colour): name for name, colour in reversed(theme.variables.items()) if "-" not in name}


def _hex(colour: str) -> str:
    return colour.lower().removeprefix("ansi_")
