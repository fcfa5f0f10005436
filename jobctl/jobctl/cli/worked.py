"""What a run executed, as facts: its command and input, and that it was edited for one replay."""

from json import dumps as json_string
from typing import Any

from jobctl.cli import describe
from jobctl.client.sync import Client
from jobctl.errors import NotFound

Fact = tuple[str, str]
Json = dict[str, Any]

_INPUT_CHARS_MAX = 200


def work_of(client: Client, run: Json) -> Json | None:
    """None when it is no longer kept."""
    try:
        return client.work(run["id"])
    except NotFound:
        return None


def facts(work: Json | None) -> list[Fact]:
    """Lines of label and text. Of an edited one all that can be edited."""
    if work is None:
        return []
    lines = [("command", describe.target(work))]
    if work["stdin"] is not None:
        lines.append(("input", _shown(work["stdin"])))
    elif work["payload_ref"]:
        lines.append(("input", f"the file {work['payload_ref']}"))
    if work["edited"]:
        lines.insert(0, ("edited", f"for this run alone; version {work['version']} of its job is another one"))
        lines += [("directory", work["cwd"])] if work["cwd"] else []
        lines += [("env", f"{name}={value}") for name, value in work["env"].items()]
    return lines


def put_back(run: Json, when: str) -> list[Fact]:
    """That a replay was broken off before its turn; `when` is in words."""
    back = run["put_back"]
    return [("put back", f"{when}: run {back['run']} died again, before its turn in the replay")] if back else []


def _shown(text: str) -> str:
    """In quotes, cut where it is long."""
    more = f" … {describe.size(len(text.encode()))} in all" if len(text) > _INPUT_CHARS_MAX else ""
    return json_string(text[:_INPUT_CHARS_MAX], ensure_ascii=False) + more
