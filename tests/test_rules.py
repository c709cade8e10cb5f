"""The rule map holds both ways: every rule has a test, and every test names rules that exist."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules import NOT_YET, RULES, ids_in_spec, rules_named_by, rules_named_in

TESTS = Path(__file__).parent
SPEC = TESTS.parent.parent / "shared" / "spec.md"
NAMED = rules_named_in(TESTS)


def test_every_rule_that_a_test_names_exists() -> None:
    assert [f"{named.where} {named.rule}" for named in NAMED if named.rule not in RULES] == []


def test_a_rule_is_named_on_a_test_and_nowhere_else() -> None:
    assert [f"{named.where} {named.rule}" for named in NAMED if not named.on_a_test] == []


def test_every_rule_has_a_test_or_a_reason_why_not() -> None:
    assert sorted(set(RULES) - {named.rule for named in NAMED} - set(NOT_YET)) == []


def test_a_rule_that_has_a_test_is_not_listed_as_having_none() -> None:
    assert sorted(set(NOT_YET) & {named.rule for named in NAMED}) == []


def test_the_list_of_rules_without_a_test_holds_rules_and_reasons() -> None:
    assert set(NOT_YET) <= set(RULES)
    assert all(reason.strip() for reason in NOT_YET.values())


@pytest.mark.skipif(not SPEC.is_file(), reason="the specification stands outside this repository")
def test_the_table_of_rules_is_that_of_the_specification() -> None:
    assert ids_in_spec(SPEC.read_text(encoding="utf-8")) == set(RULES)


def test_every_title_is_a_few_words() -> None:
    assert [rule for rule, title in RULES.items() if not 4 <= len(title.split()) <= 8] == []


def test_marks_are_found_on_functions_classes_and_modules_and_nowhere_else_do_they_count() -> None:
    source = """
pytestmark = [pytest.mark.rule("A-1"), pytest.mark.slow]

@pytest.mark.rule("B-1", "B-2")
@pytest.mark.slow
async def test_one(): ...

@pytest.mark.rule("C-1")
class TestTwo:
    @pytest.mark.rule("D-1")
    def test_three(self): ...

@pytest.mark.rule("E-1")
def helper(): ...

@pytest.mark.rule("F-1")
class Helper: ...

@pytest.mark.rule(NAME)
def test_four(): ...

TestMachine.pytestmark = [pytest.mark.rule("G-1")]
"""
    named = list(rules_named_by(source, "x.py"))
    assert sorted(each.rule for each in named if each.on_a_test) == ["A-1", "B-1", "B-2", "C-1", "D-1", "G-1", "NAME"]
    assert sorted(each.rule for each in named if not each.on_a_test) == ["E-1", "F-1"]
    assert {each.rule: each.where for each in named}["A-1"] == "x.py:2"


def test_the_specification_defines_a_rule_at_the_start_of_a_line_only() -> None:
    assert ids_in_spec("- **CAT-1** One.\n- **CAT-4 +** Two, as CAT-9.\n  - **CAT-5** no\n**CAT-6** no") == {
        "CAT-1",
        "CAT-4",
    }
