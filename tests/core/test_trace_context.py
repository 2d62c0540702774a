"""`traceparent` is read as the W3C has it, and work that nobody's trace asked for has a trace of its own."""

from __future__ import annotations

import pytest

from service.core.trace_context import TraceContext, own_context, read_traceparent

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
SPAN = "00f067aa0ba902b7"


@pytest.mark.parametrize(
    ("header", "sampled"),
    [
        (f"00-{TRACE}-{SPAN}-01", True),
        (f"00-{TRACE}-{SPAN}-00", False),
        # Flags of later levels are passed over.
        (f"00-{TRACE}-{SPAN}-03", True),
        (f"00-{TRACE}-{SPAN}-fe", False),
        # A version that is not known yet may go on behind what is known.
        (f"cc-{TRACE}-{SPAN}-01", True),
        (f"cc-{TRACE}-{SPAN}-01-what-the-future-brings", True),
        (f" \t00-{TRACE}-{SPAN}-01 ", True),
    ],
)
def test_the_place_in_a_trace_is_read(header: str, sampled: bool) -> None:
    assert read_traceparent(header) == TraceContext(trace_id=TRACE, span_id=SPAN, sampled=sampled)


@pytest.mark.parametrize(
    "header",
    [
        "",
        "00",
        f"00-{TRACE}-{SPAN}",
        f"00-{TRACE}-{SPAN}-0",
        f"00-{TRACE}-{SPAN}-011",
        f"00-{TRACE}-{SPAN}-01-more",
        f"00-{TRACE}-{SPAN}-01-",
        f"ff-{TRACE}-{SPAN}-01",
        f"cc-{TRACE}-{SPAN}-01.more",
        f"0-{TRACE}-{SPAN}-01",
        f"00-{TRACE.upper()}-{SPAN}-01",
        f"00-{TRACE}-{SPAN.upper()}-01",
        f"00-{TRACE}-{SPAN}-0A",
        f"00-{'0' * 32}-{SPAN}-01",
        f"00-{TRACE}-{'0' * 16}-01",
        f"00-{TRACE[:-1]}-{SPAN}-01",
        f"00-{TRACE[:-1]}g-{SPAN}-01",
        f"00_{TRACE}_{SPAN}_01",
        f"00-{TRACE}-{SPAN}-01\n",
        f"00-{TRACE}-{SPAN}-01, 00-{TRACE}-{SPAN}-01",
    ],
)
def test_what_is_no_place_in_a_trace_is_passed_over(header: str) -> None:
    assert read_traceparent(header) is None


@pytest.mark.parametrize("sampled", [True, False])
def test_a_place_that_is_written_is_read_as_it_was(sampled: bool) -> None:
    place = TraceContext(trace_id=TRACE, span_id=SPAN, sampled=sampled)

    assert read_traceparent(place.traceparent) == place


def test_a_turn_has_the_same_trace_of_its_own_whoever_asks_and_no_other_turn_has_it() -> None:
    one, other = own_context("trn_1"), own_context("trn_2")

    assert one == own_context("trn_1")
    assert len({one.trace_id, other.trace_id, one.span_id, other.span_id}) == 4
    assert read_traceparent(one.traceparent) == one


def test_the_ids_of_own_traces_are_spread_as_samplers_want_them() -> None:
    # They take the last 56 or 64 bits for a random number; half of the turns are below the middle of it.
    below = sum(int(own_context(f"trn_{number}").trace_id[16:], 16) < 2**63 for number in range(1000))

    assert 430 < below < 570
