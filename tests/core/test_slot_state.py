"""What `/slots` tells of each slot, whatever a build leaves out (L10)."""

from __future__ import annotations

import pytest

from service.core.json_types import JsonValue
from service.core.slot_state import SlotState, read_slot_states

pytestmark = pytest.mark.rules("L10")


def test_a_slot_in_use_tells_its_tokens() -> None:
    slot = {
        "id": 1,
        "id_task": 12,
        "n_ctx": 2048,
        "is_processing": True,
        "n_prompt_tokens": 30,
        "n_prompt_tokens_processed": 20,
        "n_prompt_tokens_cache": 10,
        "next_token": [{"n_decoded": 7}],
    }
    assert read_slot_states([slot]) == (
        SlotState(
            id=1,
            processing=True,
            task=12,
            context_tokens=2048,
            prompt_tokens=30,
            prompt_processed=20,
            prompt_cached=10,
            decoded=7,
        ),
    )


NEXT_TOKENS: list[tuple[JsonValue, int | None]] = [
    ({"n_decoded": 7}, 7),
    ([], None),
    (None, None),
    ([5], None),
    ([{}], None),
]


@pytest.mark.parametrize(("next_token", "decoded"), NEXT_TOKENS)
def test_the_decoded_tokens_are_read_in_each_form(next_token: JsonValue, decoded: int | None) -> None:
    (state,) = read_slot_states([{"id": 0, "is_processing": False, "next_token": next_token}])
    assert (state.decoded, state.processing) == (decoded, False)


@pytest.mark.parametrize("answer", [None, {}, "no", [], [1, "x", {}, {"id": "0"}, {"id": -1}]])
def test_what_is_no_slot_is_passed_over(answer: JsonValue) -> None:
    assert read_slot_states(answer) == ()
