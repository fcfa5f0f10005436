"""What is typed into fields, and the edit that it comes to."""

from typing import Any

import pytest

from jobctl.errors import InvalidInput
from jobctl_tui.words.draft import Draft, draft_of, patched
from jobctl_tui.words.field import BY_ID, FIELDS, in_text, place_of
from unit.client.fake_daemon import job

PLAN = {"timezone": "Europe/Berlin", "words": "", "cron": "0 3 * * *", "dst_gap": "auto", "dst_overlap": "auto"}


def report(**fields: Any) -> dict[str, Any]:
    return job(7, "report", **{"schedule": PLAN, "env": {"DB_PASSWORD": "hunter2", "LANG": "C"}, **fields})


def typed(draft: Draft, **texts: str) -> Draft:
    for ident, text in texts.items():
        draft = draft.put(ident, text)
    return draft


@pytest.mark.parametrize("field", FIELDS, ids=lambda field: field.id)
def test_a_field_that_is_typed_as_it_was_changes_nothing(field: Any) -> None:
    full = report(
        target={"shell": "a | b"},
        tags=["x", "y"],
        cwd="/srv",
        timeout=90,
        notify=["mail"],
        note="two\nlines",
        priority=-5,
    )
    draft = draft_of(full)
    table = dict(draft.table)
    field.write(table, draft.text(field.id))
    assert table == draft.table
    assert not draft.put(field.id, draft.text(field.id)).changed


def test_another_revision_of_the_same_definition_is_no_change_by_somebody_else() -> None:
    draft = typed(draft_of(report()), timeout="5m")
    moved = draft.moved_to(report(rev=9, paused=True))
    assert moved is not None
    assert moved.job is not None
    assert (moved.job["rev"], moved.patch, moved.texts) == (9, draft.patch, draft.texts)
    assert draft.moved_to(report(rev=9, note="theirs")) is None
    assert draft_of(None).moved_to(report()) is None


def test_what_has_no_field_is_told_when_it_is_set() -> None:
    assert in_text({"umask": "022", "nice": 0}).startswith("stdin, env_file, user, umask, nice")
    words = in_text({"nice": 5, "schedule": {"jitter": "30s"}, "stdin": "a\nb" * 40, "mail": {"to": "ops"}})
    assert words.startswith("stdin a b")
    assert "nice 5, jitter 30s, mail ops; also env_file, user, umask, limit" in words
    assert "\n" not in words


@pytest.mark.parametrize(
    ("texts", "patch"),
    [
        ({"name": "daily"}, {"name": "daily"}),
        ({"tags": "a, b  c"}, {"tags": ["a", "b", "c"]}),
        ({"command": "/bin/x 'a b' c"}, {"target": {"command": ["/bin/x", "a b", "c"]}}),
        ({"shell": "shell"}, {"target": {"shell": "/usr/bin/true"}}),
        ({"shell": "shell", "command": "a | b"}, {"target": {"shell": "a | b"}}),
        ({"cwd": "/srv"}, {"cwd": "/srv"}),
        ({"schedule": "every 10m"}, {"schedule": {"every": "10m", "timezone": "Europe/Berlin"}}),
        ({"schedule": ""}, {"schedule": None, "timezone": "Europe/Berlin"}),
        ({"timezone": "UTC"}, {"schedule": {"cron": "0 3 * * *", "timezone": "UTC"}}),
        (
            {"dst_gap": "skip"},
            {"schedule": {"cron": "0 3 * * *", "timezone": "Europe/Berlin", "dst_gap": "skip"}},
        ),
        ({"retry": "5, 1m"}, {"retry": {"max": 5, "backoff": "1m"}}),
        ({"retry": ""}, {"retry": {"max": None, "backoff": None, "backoff_max": None}}),
        ({"timeout": "1h30m"}, {"timeout": "1h30m"}),
        ({"grace": ""}, {"grace": None}),
        ({"overlap": "queue"}, {"overlap": "queue"}),
        ({"misfire": "skip"}, {"misfire": "skip", "misfire_within": None}),
        ({"misfire": "skip", "misfire_within": "5m"}, {"misfire": "skip", "misfire_within": "5m"}),
        ({"on_failure": "record"}, {"on_failure": "record"}),
        ({"queue": "mail"}, {"queue": "mail"}),
        ({"priority": "high"}, {"priority": -5}),
        ({"priority": "-3"}, {"priority": -3}),
        ({"notify": "mail\nexec:page, me"}, {"notify": ["mail", "exec:page, me"]}),
        ({"env": "DB_PASSWORD=********\nTZ=UTC"}, {"env": {"LANG": None, "TZ": "UTC"}}),
        ({"note": "look at it"}, {"note": "look at it"}),
    ],
)
def test_what_is_typed_is_the_patch(texts: dict[str, str], patch: dict[str, Any]) -> None:
    assert typed(draft_of(report()), **texts).patch == patch


def test_typing_it_back_changes_nothing() -> None:
    draft = typed(draft_of(report()), name="other", retry="9", misfire="all")
    back = typed(draft, name="report", retry=draft_of(report()).text("retry"), misfire="once")
    assert not back.changed
    assert back.patch == {}


def test_a_field_that_cannot_be_read_is_told_and_counts_as_a_change() -> None:
    draft = typed(draft_of(report()), timeout="soon", command='"open')
    assert set(draft.unreadable) == {"timeout", "command"}
    assert draft.changed
    assert draft.patch == {}
    assert draft.text("timeout") == "soon"


def test_a_field_goes_back_to_what_it_was() -> None:
    draft = typed(draft_of(report()), timeout="5m", cwd="/srv").revert("timeout")
    assert draft.patch == {"cwd": "/srv"}
    assert draft.was("timeout") is None
    assert draft.was("cwd") == ""


def test_what_goes_with_a_field_shows_what_holds_now() -> None:
    assert typed(draft_of(report()), misfire="skip").text("misfire_within") == ""


# ── a new one ──────────────────────────────────────────────


def test_a_new_job_is_empty_and_says_only_what_was_typed() -> None:
    draft = draft_of(None)
    assert not draft.changed
    assert {field.id: draft.text(field.id) for field in FIELDS if field.kind == "line" and draft.text(field.id)} == {}
    draft = typed(draft, command="/bin/x y", schedule="0 3 * * *", timezone="UTC", retry="2")
    assert draft.body == {
        "target": {"command": ["/bin/x", "y"]},
        "schedule": {"cron": "0 3 * * *", "timezone": "UTC"},
        "retry": {"max": 2},
    }


def test_a_new_job_by_hand_keeps_its_zone() -> None:
    assert typed(draft_of(None), command="x", timezone="UTC").body == {"target": {"command": ["x"]}, "timezone": "UTC"}


# ── as a text ──────────────────────────────────────────────


def test_the_text_for_an_editor_says_what_was_typed_and_comes_back_as_it_is() -> None:
    draft = typed(draft_of(report()), timeout="5m", schedule="30 2 * * *")
    text = draft.document("ana")
    assert 'timeout = "5m"' in text
    assert 'schedule.cron = "30 2 * * *"' in text
    assert draft.taken(text, text).patch == draft.patch
    taken = draft.taken(text, text.replace('"5m"', '"7m"').replace("# umask", "umask").replace('"022"', '"077"'))
    assert taken.patch == {**draft.patch, "timeout": "7m", "umask": "077"}
    assert taken.text("timeout") == "7m"


def test_a_line_that_is_taken_out_is_the_default_again() -> None:
    draft = draft_of(report(cwd="/srv"))
    text = draft.document("ana")
    assert draft.taken(text, text.replace('cwd = "/srv"', "")).patch == {"cwd": None}


def test_a_text_that_is_no_toml_is_refused() -> None:
    draft = draft_of(None)
    with pytest.raises(InvalidInput, match="line 3"):
        draft.taken("", "\n\nname = oops")


# ── somebody else ──────────────────────────────────────────────


def test_changes_are_put_on_top_of_what_somebody_else_has_changed() -> None:
    draft = typed(draft_of(report()), timeout="5m", env="DB_PASSWORD=********\nLANG=de", grace="x")
    now = report(rev=2, cwd="/srv", env={"DB_PASSWORD": "other", "LANG": "C", "NEW": "1"})
    moved = draft.onto(now)
    assert moved.patch == {"timeout": "5m", "env": {"LANG": "de"}}
    assert moved.text("cwd") == "/srv"
    assert moved.table["env"] == {"DB_PASSWORD": "other", "LANG": "de", "NEW": "1"}
    assert moved.text("grace") == "x"
    assert draft.clashes(now) == []


def test_what_both_have_changed_is_named_unless_it_is_the_same() -> None:
    draft = typed(draft_of(report()), timeout="5m", cwd="/srv")
    assert draft.clashes(report(timeout=60, cwd="/srv", rev=2)) == ["timeout"]
    draft = typed(draft_of(report()), env="DB_PASSWORD=********\nLANG=de")
    assert draft.clashes(report(env={"DB_PASSWORD": "hunter2", "LANG": "fr"}, rev=2)) == ["env.LANG"]


def test_a_patch_of_a_table_is_what_the_daemon_makes_of_it() -> None:
    table = {"env": {"A": "1", "B": "2"}, "retry": {"max": 3}, "timeout": "5m", "schedule": {"cron": "@daily"}}
    patch = {"env": {"A": None, "C": "3"}, "retry": {"max": None}, "timeout": None, "timezone": "UTC"}
    assert patched(table, patch) == {
        "env": {"B": "2", "C": "3"}, "retry": {}, "schedule": {"cron": "@daily", "timezone": "UTC"},
    }  # fmt: skip


# ── secrets, and places ──────────────────────────────────────────────


def test_secrets_are_shown_when_asked_for_and_nothing_is_lost_by_it() -> None:
    draft = typed(draft_of(report()), env="DB_PASSWORD=********\nLANG=de\nAPI_TOKEN=abc")
    shown = draft.reveal()
    assert "hunter2" in shown.text("env")
    assert shown.patch == draft.patch
    covered = shown.reveal()
    assert "hunter2" not in covered.text("env")
    assert "abc" not in covered.text("env")
    assert covered.table["env"]["DB_PASSWORD"] == "hunter2"


@pytest.mark.parametrize(
    ("name", "ident"),
    [
        ("schedule.cron", "schedule"), ("schedule", "schedule"), ("run_at", "schedule"), ("timezone", "timezone"),
        ("schedule.timezone", "timezone"), ("schedule.dst_gap", "dst_gap"), ("target.command[1]", "command"),
        ("target", "command"), ("retry.backoff_max", "retry"), ("env.A", "env"), ("overlap_queue", "overlap"),
        ("umask", None), ("", None),
    ],
)  # fmt: skip
def test_an_error_of_the_api_stands_at_the_field_it_is_about(name: str, ident: str | None) -> None:
    assert place_of(name) == ident


def test_choices_go_around() -> None:
    field = BY_ID["overlap"]
    assert [field.next_choice(value) for value, _ in field.choices] == ["queue", "allow", "replace", "skip"]
    assert field.next_choice("skip", -1) == "replace"
