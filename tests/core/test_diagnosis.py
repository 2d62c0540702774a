"""What `turnkeeper doctor` says of what it saw: each finding comes of its facts and of no others (D2, L10)."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from service.core.baseline import ToolMode
from service.core.diagnosis.findings import Code, Finding, Part, Severity
from service.core.diagnosis.model_server import build_number
from service.core.diagnosis.model_server_facts import Reach, Sharing, sharing_of
from service.core.diagnosis.service import seconds_ahead
from service.core.diagnosis.store import GIB, in_words
from service.core.diagnosis.template import Rewriting, TemplateFacts, template_findings
from service.core.diagnosis.trial_turn import STEPS, next_turn_messages, step_messages, written_anew
from service.core.slot_state import SlotState
from service.core.tool_port import DownServer, LeftOutTool
from tests.core.diagnosed_cases import (
    CASES,
    OF_THE_PORT,
    OF_THE_SERVER,
    OF_THE_SERVICE,
    OF_THE_STORE,
    PROFILE,
    Found,
    llama,
    port,
    service,
    sized,
    store,
    template,
)

pytestmark = pytest.mark.rules("D2")


def codes(findings: Found) -> list[Code]:
    return [finding.code for finding in findings]


def the(code: Code, findings: Found) -> Finding:
    return next(finding for finding in findings if finding.code is code)


def test_each_finding_has_facts_that_show_it() -> None:
    assert set(CASES) == set(Code)


@pytest.mark.parametrize("code", CASES, ids=lambda code: code.word)
def test_a_finding_comes_of_its_facts_and_not_of_the_like(code: Code) -> None:
    shown, like = CASES[code]

    assert codes(shown()).count(code) == 1
    assert code not in codes(like())


@pytest.mark.parametrize("code", CASES, ids=lambda code: code.word)
def test_a_finding_is_a_sentence_and_what_is_bad_says_what_to_do(code: Code) -> None:
    finding = the(code, CASES[code][0]())

    assert finding.says.endswith(".")
    assert "{" not in finding.says + finding.do
    assert ".." not in finding.says + finding.do
    assert finding.do or code.severity is Severity.OK


def test_codes_are_words_that_differ() -> None:
    assert len({code.word for code in Code}) == len(Code)
    assert all(code.word == code.name.lower() for code in Code)


@pytest.mark.parametrize(
    ("part", "cases"),
    [
        (Part.STORE, OF_THE_STORE),
        (Part.LLAMA_SERVER, OF_THE_SERVER),
        (Part.TOOL_PORT, OF_THE_PORT),
        (Part.SERVICE, OF_THE_SERVICE),
    ],
)
def test_a_part_has_its_own_findings(part: Part, cases: dict[Code, object]) -> None:
    assert [code for code in cases if code.part is not part] == []


@pytest.mark.parametrize(
    "findings", [store(), llama(), template(), port(), sized(), service()], ids=["store", "llama", "t", "p", "s", "all"]
)
def test_where_all_is_as_it_should_be_nothing_is_bad(findings: Found) -> None:
    assert [finding.code for finding in findings if finding.code.severity is not Severity.OK] == []


@pytest.mark.parametrize(
    ("build", "number"),
    [("b10434-abc", 10434), ("b9478", 9478), ("b0-unknown", None), ("", None), ("fake", None), ("b12x", None)],
)
def test_a_build_without_a_number_is_not_taken_for_an_old_one(build: str, number: int | None) -> None:
    assert build_number(build) == number
    assert (Code.LLAMA_TOO_OLD in codes(llama(build=build))) is (number is not None and number < 9478)


def test_what_an_old_server_lacks_is_said_with_what_it_costs() -> None:
    found = the(Code.LLAMA_TOO_OLD, llama(build="b8000-x", count_status=404, control_status=404))

    assert "(b8000-x)" in found.says
    assert found.says.count(";") == 2
    assert "input_tokens" in found.says


def test_of_a_server_that_is_not_reached_nothing_else_is_said() -> None:
    found = CASES[Code.LLAMA_AWAY][0]()

    assert codes(found) == [Code.LLAMA_AWAY]


def test_four_slots_with_the_models_whole_context_are_most_likely_shared() -> None:
    whole = llama(slots=4, trained_tokens=8192)
    part = llama(slots=4, trained_tokens=8193)

    assert "Most likely they share 8192 tokens" in the(Code.LLAMA_SLOTS_SHARED, whole).says
    assert "32768, or less" in the(Code.LLAMA_SLOTS_SHARED, whole).do
    assert Code.LLAMA_SLOTS_SHARED not in codes(part)
    assert codes(llama(slots=3, trained_tokens=8192)) == [Code.LLAMA_OK]
    assert codes(llama(slots=4, trained_tokens=8192, sharing=Sharing.OWN)) == [Code.LLAMA_OK]
    seems_own = llama(slots=4, trained_tokens=8192, sharing=Sharing.SEEMS_OWN)
    assert codes(seems_own) == [Code.LLAMA_OK, Code.LLAMA_SLOTS_MAYBE_SHARED]


@pytest.mark.parametrize(
    ("slot", "sharing"),
    [
        (SlotState(id=1, processing=False, task=3, prompt_tokens=0), Sharing.UNKNOWN),
        (SlotState(id=1, processing=False, task=3, prompt_tokens=20), Sharing.SEEMS_OWN),
        (SlotState(id=1, processing=True, task=3, prompt_tokens=0), Sharing.UNKNOWN),
        (SlotState(id=1, processing=False, task=3), Sharing.UNKNOWN),
        (SlotState(id=1, processing=False, prompt_tokens=0), Sharing.UNKNOWN),
    ],
)
def test_a_slot_that_was_emptied_shows_that_slots_share_a_context(slot: SlotState, sharing: Sharing) -> None:
    used = SlotState(id=0, processing=False, task=4, prompt_tokens=153)

    assert sharing_of([used, slot]) is sharing


def test_a_small_share_of_a_large_disk_is_nearly_full_too() -> None:
    assert Code.DISK_NEARLY_FULL in codes(store(free_bytes=49 * GIB, disk_bytes=1000 * GIB))
    assert Code.DISK_NEARLY_FULL not in codes(store(free_bytes=50 * GIB, disk_bytes=1000 * GIB))
    assert Code.DISK_NEARLY_FULL not in codes(store(free_bytes=None, disk_bytes=None))


@pytest.mark.parametrize(
    ("size", "words"), [(12, "12 bytes"), (3 * 1024, "3 KiB"), (5 * 1024**2, "5 MiB"), (3 * GIB // 2, "1.5 GiB")]
)
def test_sizes_have_the_unit_that_fits(size: int, words: str) -> None:
    assert in_words(size) == words


@pytest.mark.rules("L10")
def test_what_rewriting_costs_is_told_in_tokens_and_in_seconds_where_the_speed_is_known() -> None:
    def said(rewriting: Rewriting | None, speed: float | None) -> str:
        rewrites = replace(PROFILE, keeps_turns=False)
        facts = TemplateFacts(profile=rewrites, has_tools=True, turns=rewriting, prompt_speed=speed)
        return the(Code.TEMPLATE_REWRITES_TURNS, list(template_findings(facts))).says

    half = Rewriting(turn_tokens=600, again_tokens=300)
    assert said(half, 250.0).endswith(
        "In a trial turn of 600 tokens that was 300: after a turn of 2000 tokens the next message costs about "
        "1000 tokens more, 4.0 s at the 250 tokens a second that it evaluates."
    )
    assert said(half, None).endswith("costs about 1000 tokens more.")
    assert said(Rewriting(turn_tokens=600, again_tokens=0), None).endswith("what the model itself had written last.")
    assert said(None, 250.0).endswith("each new message evaluates the last turn again.")
    assert "that was 900" in said(Rewriting(turn_tokens=600, again_tokens=900), None)
    assert "about 2000 tokens" in said(Rewriting(turn_tokens=600, again_tokens=900), None)
    assert Rewriting(turn_tokens=0, again_tokens=0).share == 0.0


def test_the_trial_turn_is_a_turn_of_some_steps_that_the_next_turn_goes_on_from() -> None:
    whole = step_messages()

    assert [message["role"] for message in whole] == ["user", *["assistant", "tool"] * STEPS]
    assert whole[: len(step_messages(STEPS - 1))] == step_messages(STEPS - 1)
    assert next_turn_messages()[: len(whole)] == whole
    assert [message["role"] for message in next_turn_messages()[len(whole) :]] == ["assistant", "user"]


@pytest.mark.parametrize(
    ("shorter", "longer", "anew"), [("abc", "abcd", ""), ("abc", "abd", "c"), ("abc", "", "abc"), ("", "x", "")]
)
def test_what_is_written_anew_is_what_the_next_prompt_does_not_begin_with(shorter: str, longer: str, anew: str) -> None:
    assert written_anew(shorter, longer) == anew


def test_many_tools_that_are_left_out_are_named_in_part_and_counted() -> None:
    tools = tuple(LeftOutTool(name=f"tool{number}", reason="its name is odd\n") for number in range(7))
    found = the(Code.TOOLS_LEFT_OUT, port(left_out=tools))

    assert "tool4 (its name is odd\\n); and 2 more" in found.says
    assert "tool5" not in found.says


def test_many_servers_that_are_down_are_named_in_part_and_counted() -> None:
    servers = tuple(DownServer(name=f"server{number}", said="does not start\n") for number in range(7))
    found = the(Code.TOOL_SERVERS_DOWN, port(down=servers))

    assert "server4 (does not start\\n); and 2 more." in found.says
    assert "server5" not in found.says


def test_a_size_that_no_tokenizer_counted_is_said_to_be_estimated() -> None:
    assert (
        "about 1000 tokens (estimated)" in the(Code.TOOLS_CROWD_CONTEXT, sized(context_tokens=2048, counted=False)).says
    )


@pytest.mark.rules("X3")
def test_tools_that_are_searched_already_are_not_told_to_be_searched() -> None:
    direct = the(Code.TOOLS_DO_NOT_FIT, sized(context_tokens=1000))
    searched = the(Code.TOOLS_DO_NOT_FIT, sized(context_tokens=1000, mode=ToolMode.DISCOVER))

    assert "TURNKEEPER_DISCOVER_ABOVE_TOKENS=100" in direct.do
    assert "DISCOVER" not in searched.do


def test_a_clock_that_is_off_is_told_with_its_owner_and_its_way() -> None:
    ahead = the(Code.CLOCK_DIFFERS, service(clocks=(("llama-server", 5.0), ("the tool port", 90.0))))
    behind = the(Code.CLOCK_BREAKS_SIGNATURES, service(clocks=(("the tool port", -400.0),), signs=True))

    assert ahead.says.startswith("The clock of the tool port is 90 s ahead of this machine's")
    assert behind.says.startswith("The clock of the tool port is 400 s behind this machine's")


def test_a_llama_server_whose_clock_is_off_breaks_no_signature() -> None:
    assert Code.CLOCK_DIFFERS in codes(service(clocks=(("llama-server", 400.0),), signs=True))


def test_a_date_header_is_read_and_what_is_none_tells_nothing() -> None:
    now = datetime(2026, 12, 1, 12, 0, 0, tzinfo=UTC)

    assert seconds_ahead("Tue, 01 Dec 2026 12:02:00 GMT", now) == 120.0
    assert seconds_ahead("Tue, 01 Dec 2026 12:00:00 GMT", now + timedelta(seconds=90)) == -90.0
    assert seconds_ahead("", now) is None
    assert seconds_ahead("noon", now) is None


def test_of_many_models_some_are_named() -> None:
    found = service(models=("a", "b", "c", "d"), model="e")

    assert "has the model a, b, c, …, and the setting model names 'e'" in the(Code.MODEL_UNKNOWN, found).says
    assert "(a, b, c, d, e, …)" in the(Code.LLAMA_IS_A_ROUTER, llama(reach=Reach.ROUTER, models=tuple("abcdef"))).says
    assert "(none is listed)" in the(Code.LLAMA_IS_A_ROUTER, llama(reach=Reach.ROUTER)).says
