"""The list of deliberate faults is in step with the code."""

import ast

import pytest

from mutants.mutants import PROJECT, Mutant, mutants

ALL = list(mutants())


@pytest.mark.parametrize("mutant", ALL, ids=lambda mutant: mutant.name)
def test_a_fault_has_its_place_and_its_tests(mutant: Mutant) -> None:
    text = mutant.text()
    if mutant.file.endswith(".py"):
        ast.parse(text)
    assert mutant.tests
    for tests in mutant.tests:
        assert (PROJECT / tests).is_file(), tests


def test_there_are_enough_of_them_and_no_two_are_the_same() -> None:
    assert len(ALL) >= 12
    assert len({mutant.name for mutant in ALL}) == len({(mutant.file, mutant.new) for mutant in ALL}) == len(ALL)
