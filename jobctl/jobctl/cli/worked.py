"""What a run executed, where it is still kept."""

from typing import Any

from jobctl.client.sync import Client
from jobctl.errors import NotFound

Json = dict[str, Any]


def work_of(client: Client, run: Json) -> Json | None:
    """None when it is no longer kept."""
    try:
        return client.work(run["id"])
    except NotFound:
        return None
