"""Pages are found in every way of installing."""

import gzip
import sys
from pathlib import Path

import pytest

from jobctl.manual import find, page

ROOT = Path(__file__).parents[3]


def test_a_checkout_has_its_own_pages() -> None:
    found = page("jobctl-add")
    assert found is not None
    assert Path(found.path) == ROOT / "man" / "jobctl-add.1"
    assert find.folders()[0] == str(ROOT / "man")


def test_an_environment_comes_before_the_host() -> None:
    places = find.folders()
    assert places.index(f"{sys.prefix}/share/man") < places.index("/usr/local/share/man") < len(places) - 1
    assert places[-1] == "/usr/share/man"


def installed(folder: Path, name: str, text: str, *, packed: bool = False) -> None:
    place = folder / f"man{name[-1]}"
    place.mkdir(parents=True, exist_ok=True)
    if packed:
        with gzip.open(place / f"{name}.gz", "wb") as file:
            file.write(text.encode())
    else:
        (place / name).write_text(text)


@pytest.mark.parametrize("packed", [False, True])
def test_pages_in_folders_of_their_sections_are_found_packed_or_not(tmp_path: Path, packed: bool) -> None:
    installed(tmp_path, "jobctl-dlq.1", ".TH DLQ 1\n", packed=packed)
    installed(tmp_path, "jobctl-dlq-ls.1", ".so man1/jobctl-dlq.1\n", packed=packed)
    installed(tmp_path, "jobd.8", ".TH JOBD 8\n", packed=packed)
    end = ".gz" if packed else ""
    for name in ("jobctl-dlq", "jobctl-dlq-ls"):
        assert page(name, [str(tmp_path)]) == (f"{tmp_path}/man1/jobctl-dlq.1{end}", ".TH DLQ 1\n")
    assert page("jobd", ["/nowhere", str(tmp_path)]) == (f"{tmp_path}/man8/jobd.8{end}", ".TH JOBD 8\n")


def test_what_is_not_there_or_no_page_is_none(tmp_path: Path) -> None:
    place = tmp_path / "man1"
    place.mkdir()
    (place / "jobctl-ls.1.gz").write_bytes(b"no gzip")
    (place / "jobctl-rm.1").write_bytes(b"\xff\xfe")
    (place / "jobctl-log.1").mkdir()
    installed(tmp_path, "jobctl-kill.1", ".so man1/jobctl-cancel.1\n")
    for name in ("jobctl-ls", "jobctl-rm", "jobctl-log", "jobctl-kill", "jobctl-add"):
        assert page(name, [str(tmp_path)]) is None
