"""What an apply would do, for people: each job with its mark, the fields that change, and the next fires."""

from typing import Any, Final

from jobctl.cli.added import fires
from jobctl.cli.applying import ORDER, show_head, show_tail
from jobctl.cli.changed import field_changes
from jobctl.cli.session import Session

Json = dict[str, Any]

MARKS: Final = {"created": "+", "adopted": "~", "changed": "~", "removed": "-", "left": "?"}
_INDENT: Final = 18


def show_plan(session: Session, found: list[Json]) -> None:
    """What would become of each job."""
    session.render.listing(
        found,
        name=lambda file: str(file["path"]),
        fields=("path", "items", "notes"),
        show=lambda _: _show(session, found),
    )


def _show(session: Session, found: list[Json]) -> None:
    if not found:
        session.render.word("there is no file of jobs")
    for file in found:
        show_head(session, file, _would)
        for item in sorted(file["items"], key=lambda item: (ORDER.index(item["action"]), item["name"])):
            if item["action"] in MARKS:
                _show_item(session, item)
        show_tail(session, file)


def _would(action: str) -> str:
    """What is left as it is, is so now already."""
    return action if action in ("left", "unchanged") else f"would be {action}"


def _show_item(session: Session, item: Json) -> None:
    render = session.render
    render.line(f"{MARKS[item['action']]} {item['name']}   {_would(item['action'])}")
    for label, text in [*field_changes(item.get("changes", [])), *_fires(session, item)]:
        render.fact(f"    {label}", text, _INDENT)


def _fires(session: Session, item: Json) -> list[tuple[str, str]]:
    before = fires(item.get("before") or {}, session.viewer)
    after = fires(item.get("preview") or {}, session.viewer)
    if item["action"] == "created":
        return list(zip(["next", "", ""], after or ["by hand, or after another job"], strict=False))
    if item["action"] not in ("changed", "adopted"):
        return list(zip(["would be", "", ""], before, strict=False))
    if before == after:
        return [("next", f"as before: {before[0]}")] if before else []
    return [
        *zip(["next, before", "", ""], before or ["none"], strict=False),
        *zip(["next, after", "", ""], after or ["none"], strict=False),
    ]
