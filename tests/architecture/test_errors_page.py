"""The page of errors leaves out no code, no kind and no outcome, and says of retrying what the code does."""

import ast
from collections import Counter
from collections.abc import Iterator
from functools import cache

import pytest

from docs.error_rows import KINDS, OUTCOMES, KindRow
from docs.problem_rows import PROBLEMS, ProblemRow
from service.config.settings import Settings
from service.core.errors import ErrorKind, ModelFailure, ProblemCode
from service.core.head_wait import PATIENCE, HeadState
from service.core.records import Outcome
from service.core.retry import TABLE, Remedy, Shown, trouble_of
from service.web import early_answers
from service.web.early_answers import EarlyAnswer
from tests.architecture.pages import ROOT

EARLY = [answer for answer in vars(early_answers).values() if isinstance(answer, EarlyAnswer)]
# It is looked up like the others, and tried again only where a compaction makes room.
COMPACTED = ErrorKind.CONTEXT_FULL


@pytest.mark.rules("H2")
def test_each_code_of_a_problem_has_one_row() -> None:
    assert Counter(row.name for row in PROBLEMS) == Counter([*ProblemCode, *(answer.code for answer in EARLY)])


def test_each_kind_of_error_has_one_row() -> None:
    assert Counter(row.kind for row in KINDS) == Counter(ErrorKind)


def test_each_outcome_is_explained() -> None:
    assert set(OUTCOMES) == set(Outcome)


@cache
def refusals() -> tuple[tuple[str, bool], ...]:
    """Give each place where a request is refused: the code, and whether it says when to come back."""
    return (*_raised(), *((answer.code, answer.retry_after_s is not None) for answer in EARLY))


def _raised() -> Iterator[tuple[str, bool]]:
    for path in sorted((ROOT / "service").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and node.args and ast.unparse(node.args[0]).startswith("ProblemCode."):
                code = ProblemCode[ast.unparse(node.args[0]).removeprefix("ProblemCode.")]
                yield code.value, any(keyword.arg == "retry_after_s" for keyword in node.keywords)


@pytest.mark.parametrize("row", PROBLEMS, ids=lambda row: row.name)
def test_the_page_tells_of_retry_after_where_the_service_sends_it(row: ProblemRow) -> None:
    sent = [says_when for code, says_when in refusals() if code == row.name]

    assert sent != []
    assert ("Retry-After" in row.again) == any(sent)
    assert ("where there is none" in row.again) == (any(sent) and not all(sent))


@pytest.mark.rules("L7")
@pytest.mark.parametrize("row", [row for row in KINDS if row.kind is not COMPACTED], ids=lambda row: row.kind)
def test_the_page_says_tried_again_of_what_is(row: KindRow) -> None:
    trouble = trouble_of(ModelFailure(row.kind, ""), head_seen=True, used_tokens=0, context_tokens=None)

    assert (row.tried == "no") == (TABLE[trouble, Shown.NOTHING].remedy is Remedy.END)


@pytest.mark.rules("D1")
@pytest.mark.parametrize("row", KINDS, ids=lambda row: row.kind)
def test_the_settings_of_a_kind_are_settings(row: KindRow) -> None:
    assert [name for name in row.settings if name not in Settings.model_fields] == []


@pytest.mark.rules("L2")
@pytest.mark.parametrize("state", HeadState)
def test_a_wait_that_was_in_vain_names_its_setting(state: HeadState) -> None:
    (row,) = [row for row in KINDS if row.kind is PATIENCE[state].kind]

    assert PATIENCE[state].setting in row.settings


def test_the_kind_that_is_called_reserved_is_used_nowhere() -> None:
    (row,) = [row for row in KINDS if row.cause.startswith("Reserved")]
    name = f"ErrorKind.{row.kind.name}"

    assert [path for path in (ROOT / "service").rglob("*.py") if name in path.read_text(encoding="utf-8")] == []
