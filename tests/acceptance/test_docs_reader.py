"""Whoever types what pages say notices what is wrong with them."""

import os
from pathlib import Path

import pytest
from typer._click.exceptions import UsageError

from kit import pages
from kit.pages import Block, Typed

PAGE = """
<!-- tested: daemon -->
```sh
echo "at 20:55:40 UTC"; echo "exit code 3"
```

Words between.

<!-- tested: shown, why not -->
```sh
reboot
```

```sh
cat <<'END'
jobctl nonsense, it's a document
END
```
"""


def told(text: str, prints: str | None) -> Block:
    return Block("page", 1, "daemon", "", text, prints)


def typed(tmp_path: Path, *blocks: Block) -> Typed:
    return pages.typed([], blocks, os.environ, tmp_path)


def test_blocks_have_their_line_their_place_and_why() -> None:
    found = list(pages.blocks_of("page", PAGE))
    assert [(block.line, block.how, block.why, block.prints) for block in found] == [
        (4, "daemon", "", None),
        (11, "shown", "why not", None),
        (15, None, "", None),
    ]


def test_what_is_printed_is_compared_but_for_times_and_ids(tmp_path: Path) -> None:
    text = 'echo "run 7 at 20:55:40 UTC, took 3ms"; echo "exit code 3"\n'
    same = told(text, "run 1 at 03:00:00 UTC, took 1h20m\nexit code 3\n")
    typed(tmp_path, same).must_be_as_told([same], {})
    for wrong in ("run 1 at 03:00:00 UTC, took 1ms\nexit code 4\n", "run 1 at 03:00 UTC, took 1ms\n", ""):
        other = told(text, wrong)
        with pytest.raises(AssertionError, match="page:1 tells"):
            typed(tmp_path, other).must_be_as_told([other], {})


def test_an_ellipsis_is_anything_and_lines_may_be_broken_elsewhere(tmp_path: Path) -> None:
    text = "printf 'one\\ntwo\\nthree and four\\n'\n"
    for prints in ("one\n…\n", "one\n…\nthree …\n", "…\none\ntwo\nthree and four\n…\n", "one two\n  three and four\n"):
        block = told(text, prints)
        typed(tmp_path, block).must_be_as_told([block], {})
    block = told(text, "one\n…\nthree\n")
    with pytest.raises(AssertionError):
        typed(tmp_path, block).must_be_as_told([block], {})


def test_one_shell_types_all_and_the_first_command_that_fails_ends_it(tmp_path: Path) -> None:
    first, second, third = told("there=here\n", None), told('[ "$there" = here ]\nfalse\n', None), told("true\n", None)
    done = typed(tmp_path, first, second, third)
    assert len(done.printed) == 2
    with pytest.raises(AssertionError, match="exit code 1"):
        done.must_be_as_told([first, second, third], {})


def test_command_lines_are_found_where_a_shell_would_find_them() -> None:
    text = """X=1 jobctl ls --json | jq .   # don't mind: jobctl nonsense
jobctl add x --shell 'jobctl nothing; true' \\
    --in 5m && jobctl rm x
if ! jobctl status --check; then jobctl log "a b" -f; fi
cat > file <<'END'
jobctl it's a document
END
docker exec jobs jobctl runs -n 3
"""
    assert list(pages.calls(text)) == [
        ["ls", "--json"],
        ["add", "x", "--shell", "jobctl nothing; true", "--in", "5m"],
        ["rm", "x"],
        ["status", "--check"],
        ["log", "a b", "-f"],
        ["runs", "-n", "3"],
    ]


@pytest.mark.parametrize("words", [["runs", "--failed"], ["lss"], ["queue", "set", "x", "--limit", "1"], ["log"]])
def test_what_the_parser_does_not_take_is_no_command_line(words: list[str]) -> None:
    with pytest.raises((AssertionError, UsageError)):
        pages.must_parse(words)


def test_what_is_only_named_may_lack_what_it_is_about_and_nothing_else() -> None:
    for words in (["log"], ["add", "--at"], ["dlq"], ["VERB", "--help"]):
        pages.must_parse(words, named=True)
    for words in (["log", "--tial", "3"], ["queue", "set", "x", "4"], ["dlq", "replya"]):
        with pytest.raises((AssertionError, UsageError)):
            pages.must_parse(words, named=True)
