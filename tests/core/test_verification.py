"""S3: whatever is changed in a log, the check names the first place where it shows."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.core.chain import EMPTY, Head
from service.core.kept_heads import NOTHING_KEPT, KeptHeads
from service.core.verification import Fault, FaultKind, KeptRecord, Verdict, verify_log
from tests.core.written_logs import CUT_EVERY, OTHER, SESSION, SPECS_HASH, hashed, specs_of, written

pytestmark = pytest.mark.rules("S3")

LENGTH = 12
LOG = written(LENGTH)
ANY = st.integers(1, LENGTH)
IN_BETWEEN = st.integers(1, LENGTH - 1)
KEPT: KeptHeads = {record.seq: {record.hash} for record in LOG.records}
"""The heads of someone who looked after each append."""


def check(records: Sequence[KeptRecord], *, head: Head = LOG.head, kept: KeptHeads = NOTHING_KEPT) -> Verdict:
    return verify_log(SESSION, head, iter(records), specs=specs_of, kept=kept)


def place(verdict: Verdict) -> tuple[int, FaultKind] | None:
    return None if verdict.fault is None else (verdict.fault.seq, verdict.fault.kind)


def with_record(at: int, /, **changes: object) -> list[KeptRecord]:
    records = list(LOG.records)
    records[at - 1] = replace(records[at - 1], **changes)  # pyright: ignore[reportArgumentType]
    return records


def with_body(at: int, /, **members: object) -> bytes:
    return json.dumps(json.loads(LOG.records[at - 1].body) | members).encode()


def without(seq: int) -> list[KeptRecord]:
    return [record for record in LOG.records if record.seq != seq]


def flipped(value: bytes, at: int, bit: int) -> bytes:
    at %= len(value)
    return value[:at] + bytes([value[at] ^ (1 << bit)]) + value[at + 1 :]


@given(length=st.integers(1, 30))
def test_a_log_as_it_was_written_is_right_up_to_its_head(length: int) -> None:
    log = written(length)

    assert check(log.records, head=log.head) == Verdict(head=log.head, fault=None)
    assert check(log.records, head=log.head, kept={length: {log.head.hash}}).fault is None


@given(seq=ANY, at=st.integers(min_value=0), bit=st.integers(0, 7))
def test_any_bit_of_a_body_that_is_changed_is_found_at_its_record(seq: int, at: int, bit: int) -> None:
    verdict = check(with_record(seq, body=flipped(LOG.records[seq - 1].body, at, bit)))

    assert place(verdict) in {(seq, FaultKind.BODY), (seq, FaultKind.ENVELOPE)}
    assert verdict.head.seq == seq - 1


@given(seq=ANY, at=st.integers(min_value=0), bit=st.integers(0, 7))
def test_any_bit_of_a_hash_that_is_changed_is_found_at_its_record(seq: int, at: int, bit: int) -> None:
    assert place(check(with_record(seq, hash=flipped(LOG.records[seq - 1].hash, at, bit)))) == (seq, FaultKind.BODY)


@given(at=st.integers(min_value=0), bit=st.integers(0, 7))
def test_any_bit_of_the_head_that_is_changed_is_found_at_the_last_record(at: int, bit: int) -> None:
    head = Head(seq=LENGTH, hash=flipped(LOG.head.hash, at, bit))

    assert place(check(LOG.records, head=head)) == (LENGTH, FaultKind.HEAD)


@given(seq=st.integers(-3, LENGTH + 5).filter(lambda seq: seq != LENGTH), its_hash=st.booleans())
def test_a_head_of_another_seq_is_found(seq: int, its_hash: bool) -> None:
    known = 1 <= seq <= LENGTH and its_hash
    head = Head(seq=seq, hash=LOG.records[seq - 1].hash if known else LOG.head.hash)

    # Where that record has the head's hash, it is the one behind it that should not be there.
    found = (LENGTH + 1, FaultKind.GAP) if seq > LENGTH else (seq + known if seq > 0 else 1, FaultKind.HEAD)
    assert place(check(LOG.records, head=head)) == found


@given(seq=IN_BETWEEN)
def test_a_record_that_is_missing_is_found_where_it_stood(seq: int) -> None:
    assert place(check(without(seq))) == (seq, FaultKind.GAP)


@given(length=st.integers(0, LENGTH - 1))
def test_a_tail_that_is_cut_is_found_where_it_began(length: int) -> None:
    assert place(check(LOG.records[:length])) == (length + 1, FaultKind.GAP)


@given(first=ANY, second=ANY)
def test_two_records_that_changed_places_are_found_at_the_first(first: int, second: int) -> None:
    records = list(LOG.records)
    one, two = records[first - 1], records[second - 1]
    records[first - 1], records[second - 1] = (
        replace(two, seq=one.seq, pos=one.pos),
        replace(one, seq=two.seq, pos=two.pos),
    )

    assert place(check(records)) == (None if first == second else (min(first, second), FaultKind.ENVELOPE))


@given(first=ANY, second=ANY)
def test_two_bodies_that_changed_places_are_found_though_all_was_hashed_anew(first: int, second: int) -> None:
    records = list(LOG.records)
    one, two = records[first - 1], records[second - 1]
    records[first - 1], records[second - 1] = replace(one, body=two.body), replace(two, body=one.body)
    anew = hashed(records)

    verdict = check(anew, head=Head(seq=LENGTH, hash=anew[-1].hash))

    assert place(verdict) == (None if first == second else (min(first, second), FaultKind.ENVELOPE))


@given(seq=ANY, behind=ANY)
def test_a_record_that_is_there_twice_is_found_at_the_second(seq: int, behind: int) -> None:
    if behind < seq:
        seq, behind = behind, seq
    copy = replace(LOG.records[seq - 1], seq=behind + 1)
    later = [replace(record, seq=record.seq + 1, pos=record.pos + 2) for record in LOG.records[behind:]]

    verdict = check([*LOG.records[:behind], replace(copy, pos=LOG.records[behind - 1].pos + 1), *later])

    assert place(verdict) == (behind + 1, FaultKind.ENVELOPE)


def test_two_records_of_one_seq_are_found() -> None:
    second = replace(LOG.records[4], pos=LOG.records[4].pos + 1)

    assert place(check([*LOG.records[:5], second, *LOG.records[5:]])) == (5, FaultKind.ORDER)


@given(seq=st.integers(2, LENGTH), back=st.integers(0, 5))
def test_a_pos_that_is_not_behind_the_one_before_it_is_found(seq: int, back: int) -> None:
    pos = LOG.records[seq - 2].pos - back

    assert place(check(with_record(seq, pos=pos))) == (seq, FaultKind.ORDER)


@given(seq=ANY, by=st.integers(1, 9))
def test_records_that_were_numbered_anew_are_found_at_the_first(seq: int, by: int) -> None:
    records = [record if record.seq < seq else replace(record, seq=record.seq + by) for record in LOG.records]

    assert place(check(records, head=replace(LOG.head, seq=LENGTH + by))) == (seq, FaultKind.GAP)


@given(seq=ANY)
def test_a_record_of_another_session_is_found(seq: int) -> None:
    other = written(LENGTH, session=OTHER).records[seq - 1]
    records = with_record(seq, body=other.body, hash=other.hash)

    assert place(check(records)) == (seq, FaultKind.ENVELOPE)
    anew = hashed(records)
    assert place(check(anew, head=Head(seq=LENGTH, hash=anew[-1].hash))) == (seq, FaultKind.ENVELOPE)


@pytest.mark.parametrize(
    ("members", "said"),
    [
        ({"session": "ses_\u202etwo"}, 'its body says "ses_\\u202etwo" for session, not "ses_one"'),
        ({"seq": 4}, "its body says 4 for seq, not 5"),
        ({"seq": True}, "its body says true for seq, not 5"),
        ({"seq": [5]}, "its body says something else for seq, not 5"),
        ({"turn": None}, 'its body says null for turn, not "trn_1"'),
        ({"type": "assistant"}, 'its body says "assistant" for type, not "user"'),
    ],
)
def test_an_envelope_that_tells_another_place_is_found_though_all_was_hashed_anew(
    members: dict[str, object], said: str
) -> None:
    anew = hashed(with_record(5, body=with_body(5, **members)))

    verdict = check(anew, head=Head(seq=LENGTH, hash=anew[-1].hash))

    assert verdict.fault == Fault(seq=5, kind=FaultKind.ENVELOPE, what=said)


def test_a_body_that_says_true_for_the_first_seq_is_found() -> None:
    anew = hashed(with_record(1, body=with_body(1, seq=True)))

    assert place(check(anew, head=Head(seq=LENGTH, hash=anew[-1].hash))) == (1, FaultKind.ENVELOPE)


def test_a_body_without_a_member_of_the_envelope_is_found() -> None:
    members = json.loads(LOG.records[4].body)
    del members["turn"]
    anew = hashed(with_record(5, body=json.dumps(members).encode()))

    verdict = check(anew, head=Head(seq=LENGTH, hash=anew[-1].hash))

    assert verdict.fault is not None
    assert verdict.fault.what == 'its body says nothing for turn, not "trn_1"'


@pytest.mark.parametrize("body", [b"", b"[]", b"null", b"{", b"\xff", b"[" * 100_000, b"9" * 5000])
def test_a_body_that_is_no_record_is_found_with_and_without_a_new_hash(body: bytes) -> None:
    changed = with_record(5, body=body)
    anew = hashed(changed)

    assert place(check(changed)) == (5, FaultKind.BODY)
    assert place(check(anew, head=Head(seq=LENGTH, hash=anew[-1].hash))) == (5, FaultKind.ENVELOPE)


@pytest.mark.rules("T9")
@given(seq=ANY.map(lambda seq: max(CUT_EVERY, seq - seq % CUT_EVERY)), at=st.integers(0, 9))
def test_a_full_text_that_is_changed_where_the_record_shows_it_is_found(seq: int, at: int) -> None:
    full = LOG.records[seq - 1].full
    assert full is not None

    for changed in (None, full[:-1], full + b"x", flipped(full, at, 0), flipped(full, len(full) - 1 - at, 0)):
        assert place(check(with_record(seq, full=changed))) == (seq, FaultKind.FULL_TEXT)


@pytest.mark.rules("T9")
@given(seq=ANY.filter(lambda seq: seq % CUT_EVERY != 0))
def test_a_full_text_beside_a_record_that_was_not_cut_is_found(seq: int) -> None:
    assert place(check(with_record(seq, full=b"whole"))) == (seq, FaultKind.FULL_TEXT)


@pytest.mark.rules("T9")
@pytest.mark.parametrize("members", [{"content": 5}, {"original_bytes": "5"}])
def test_a_result_whose_members_are_of_another_kind_has_no_full_text(members: dict[str, object]) -> None:
    anew = hashed(with_record(3, body=with_body(3, **members)))

    assert place(check(anew, head=Head(seq=LENGTH, hash=anew[-1].hash))) == (3, FaultKind.FULL_TEXT)


@pytest.mark.rules("X3")
@pytest.mark.parametrize(
    ("kept", "said"),
    [
        (None, f"the tool specs that it names ({SPECS_HASH}) are missing"),
        (b"[]", f"the tool specs that it names ({SPECS_HASH}) are not those that are kept"),
    ],
)
def test_specs_that_are_not_those_that_the_session_was_made_with_are_found(kept: bytes | None, said: str) -> None:
    verdict = verify_log(SESSION, LOG.head, LOG.records, specs=lambda _name: kept)

    assert verdict.fault == Fault(seq=1, kind=FaultKind.SPECS, what=said)


@pytest.mark.parametrize("baseline", [None, {}, {"tools": None}, {"tools": {"hash": None}}, {"tools": {"hash": 5}}])
def test_a_session_without_tools_names_no_specs(baseline: object) -> None:
    (anew,) = hashed([replace(LOG.records[0], body=with_body(1, baseline=baseline))])

    assert check([anew], head=Head(seq=1, hash=anew.hash)).fault is None


@given(seq=ANY, kept=st.sets(ANY, min_size=1))
def test_a_log_that_was_rebuilt_as_a_whole_is_found_by_the_heads_that_were_kept(seq: int, kept: set[int]) -> None:
    anew = hashed(with_record(seq, body=with_body(seq, time="2031-01-01T00:00:00.000000Z")))
    head = Head(seq=LENGTH, hash=anew[-1].hash)
    differing = sorted(at for at in kept if at >= seq)

    assert check(anew, head=head).fault is None
    verdict = check(anew, head=head, kept={at: KEPT[at] for at in kept})
    assert place(verdict) == ((differing[0], FaultKind.KEPT_HEAD) if differing else None)


def test_what_was_kept_last_and_is_right_tells_from_where_on_a_log_was_rebuilt() -> None:
    anew = hashed(with_record(6, body=with_body(6, time="2031-01-01T00:00:00.000000Z")))

    verdict = check(anew, head=Head(seq=LENGTH, hash=anew[-1].hash), kept={at: KEPT[at] for at in (2, 4, 9, 12)})

    assert verdict.fault is not None
    assert verdict.fault.what == (
        "it is not the record whose head was kept: the log was written anew from record 5 on, or later"
    )


@given(length=IN_BETWEEN)
def test_a_tail_that_was_cut_with_its_head_is_found_by_a_head_that_was_kept(length: int) -> None:
    head = Head(seq=length, hash=LOG.records[length - 1].hash)

    assert check(LOG.records[:length], head=head).fault is None
    verdict = check(LOG.records[:length], head=head, kept={LENGTH: {LOG.head.hash}})
    assert place(verdict) == (length + 1, FaultKind.KEPT_HEAD)


def test_heads_that_contradict_each_other_are_never_both_right() -> None:
    assert place(check(LOG.records, kept={5: {LOG.records[4].hash, bytes(32)}})) == (5, FaultKind.KEPT_HEAD)


def test_a_log_without_a_record_is_wrong() -> None:
    assert place(check([], head=EMPTY)) == (1, FaultKind.GAP)


def test_no_record_is_read_behind_the_first_fault_and_none_twice() -> None:
    read: list[int] = []

    def reading() -> Iterator[KeptRecord]:
        for record in with_record(5, body=b"{}"):
            read.append(record.seq)
            yield record

    verify_log(SESSION, LOG.head, reading(), specs=specs_of)

    assert read == [1, 2, 3, 4, 5]
