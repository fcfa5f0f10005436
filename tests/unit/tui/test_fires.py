"""What comes of a draft, computed here: fires, clock changes, mistakes by their fields."""

from typing import Any

import pytest

from jobctl.reading.times import milliseconds
from jobctl_tui.words import fires
from jobctl_tui.words.draft import draft_of
from jobctl_tui.words.fires import Foretold, Trouble, circumstances, foretell
from jobctl_tui.words.glyphs import UTF8
from jobctl_tui.words.outlook import outlook
from unit.client.fake_daemon import job
from unit.tui.test_draft import report, typed

NOW = milliseconds("2026-11-29T02:12:41Z")
STATUS = {"timezone": "UTC", "timezone_from": "/etc/localtime", "user": "ana", "system": False, "caller": {"uid": 1000}}


def come(of: Any = None, n: int = 3, **texts: str) -> Foretold:
    draft = typed(draft_of(of), **texts)
    return foretell(draft, circumstances(STATUS, NOW, 1000, of), n)


def words(found: Foretold, columns: int = 100) -> str:
    return "\n".join("".join(text for text, _ in line) for line in outlook(found, NOW, columns, UTF8))


def test_the_next_fires_are_told_on_the_clock_of_the_job_and_in_utc() -> None:
    found = come(report(), schedule="30 2 * * *")
    assert found.words == "every day at 02:30"
    assert found.preview is not None
    first = fires.fire_lines(found.preview, NOW)[0]
    assert (first.local, first.utc, first.ahead) == ("Mon 30 Nov 2026  02:30 CET", "01:30Z", "in 23h17m")


def test_another_day_in_utc_is_told() -> None:
    found = come(report(), schedule="30 0 * * *")
    assert found.preview is not None
    assert fires.fire_lines(found.preview, NOW)[0].utc == "23:30Z -1d"


def test_clock_changes_of_twelve_months_are_told_with_what_the_policy_does_and_what_avoids_them() -> None:
    text = words(come(report(), schedule="30 2 * * *"))
    assert "Sun 28 Mar 2027  02:30 does not exist (clocks go 02:00 → 03:00)" in text
    assert "→ runs at 03:00, the end of the gap   [gap: auto]" in text
    assert "Sun 31 Oct 2027  02:30 occurs twice (clocks go 03:00 → 02:00)" in text
    assert "avoided by 30 1 * * * or 30 3 * * * or the timezone UTC" in text
    assert "d changes the policy" in text


def test_another_policy_does_something_else() -> None:
    text = words(come(report(), schedule="30 2 * * *", dst_gap="skip", dst_overlap="both"))
    assert "[gap: skip]" in text
    assert "do not run" in text or "does not run" in text
    assert "both passes run" in text


def test_a_schedule_that_no_clock_change_touches_says_so() -> None:
    text = words(come(report(), schedule="0 12 * * *"))
    assert "none of its times is touched (Sun 28 Mar 2027, Sun 31 Oct 2027)" in text
    assert "avoided" not in text


def test_what_avoids_a_clock_change_does_avoid_it() -> None:
    found = come(report(), schedule="15 2 * * 1-5,0")
    assert found.preview is not None
    assert found.spec is not None
    offered = fires.ways_around(found.preview, found.spec, NOW).split(" or ")[:-1]
    assert len(offered) == 2
    for text in offered:
        tried = come(report(), schedule=text)
        assert tried.preview is not None
        assert not any(change.swallowed or change.repeated for change in tried.preview.transitions)


def test_policies_go_around() -> None:
    seen = [("auto", "auto")]
    for _ in fires.POLICIES:
        seen.append(fires.next_policy(*seen[-1]))
    assert seen[-1] == seen[0]
    assert set(seen) == set(fires.POLICIES)


@pytest.mark.parametrize(
    ("texts", "ident", "said"),
    [
        ({"schedule": "61 * * * *"}, "schedule", "61"),
        ({"schedule": "10m"}, "schedule", "five fields"),
        ({"schedule": "at yesterday 10:00"}, "schedule", "ago"),
        ({"timezone": "Europe/Berln"}, "timezone", "no time zone"),
        ({"command": ""}, "command", "no command"),
        ({"cwd": "srv"}, "cwd", "absolute"),
        ({"timeout": "soon"}, "timeout", "duration"),
        ({"retry": "3, 0s"}, "retry", "delay"),
        ({"priority": "20"}, "priority", "20"),
        ({"notify": "somebody"}, "notify", "nobody to tell"),
        ({"name": "123"}, "name", "could be an id"),
        ({"tags": "a!"}, "tags", "not possible"),
        ({"env": "A B=1"}, "env", "cannot name a variable"),
    ],
)
def test_every_mistake_stands_at_its_field(texts: dict[str, str], ident: str, said: str) -> None:
    found = come(report(), **texts)
    assert set(found.troubles) == {ident}
    assert said in found.troubles[ident].reason


def test_all_mistakes_are_told_at_once_and_the_schedule_all_the_same() -> None:
    found = come(report(), cwd="srv", grace="x", priority="99")
    assert set(found.troubles) == {"cwd", "grace", "priority"}
    assert found.preview is not None


def test_while_the_schedule_cannot_be_read_no_old_fires_are_shown() -> None:
    found = come(report(), schedule="0 3 * *")
    assert found.preview is None
    assert "when the schedule can be read" in words(found)


@pytest.mark.parametrize(
    ("schedule", "said"),
    [
        ("", "by hand only"),
        ("after backup", "each time backup succeeds"),
        ("after backup:any", "each time backup ends"),
        ("on boot", "at the next boot of the host"),
        ("on start", "each time the daemon starts"),
        ("0 0 31 2 *", "this date never comes"),
    ],
)
def test_what_no_time_starts_says_what_does(schedule: str, said: str) -> None:
    assert said in words(come(command="/bin/x", schedule=schedule))


def test_an_interval_that_is_not_changed_goes_on_from_where_the_daemon_is() -> None:
    plan = {"timezone": "UTC", "words": "", "every": 600, "dst_gap": "auto", "dst_overlap": "auto"}
    every = job(1, "poll", schedule=plan, next_run_at="2026-11-29T02:17:00Z")
    found = come(every)
    assert found.preview is not None
    assert found.preview.fires[0].at_ms == milliseconds("2026-11-29T02:17:00Z")
    changed = come(every, schedule="every 5m")
    assert changed.preview is not None
    assert changed.preview.fires[0].at_ms == NOW + 300_000


def test_who_the_job_runs_as_is_not_asked_again_where_it_is_not_changed() -> None:
    assert come(report(user="postgres")).troubles == {}


def test_without_a_daemon_this_host_is_what_it_is_checked_against() -> None:
    draft = typed(draft_of(None), command="/bin/x", schedule="0 3 * * *")
    found = foretell(draft, circumstances(None, NOW, 0, None), 1)
    assert found.troubles == {}
    assert found.preview is not None


def test_how_far_the_next_fire_moves() -> None:
    before, after = come(report()).preview, come(report(), schedule="30 2 * * *").preview
    assert fires.shift_words(before, after) == ("Sun 29 Nov  03:00 CET", "Mon 30 Nov  02:30 CET", "23h30m later") or (
        fires.shift_words(before, after) == ("Mon 30 Nov  03:00 CET", "02:30 CET", "30m earlier")
    )
    assert fires.shift_words(before, before) is None


def test_mistakes_that_no_field_shows_are_told_too() -> None:
    draft = draft_of(report())
    text = draft.document("ana")
    taken = draft.taken(text, text.replace('# umask = "022"', 'umask = "9"'))
    found = foretell(taken, circumstances(STATUS, NOW, 1000, report()), 1)
    assert isinstance(found.troubles[""], Trouble)
    assert found.wrongs[0][0] == "umask"
