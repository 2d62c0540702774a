"""The bytes that a tool port answers with: each of them makes an answer."""

import contextlib
import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from service.core.errors import ToolPortFailure
from service.core.labels import DataClass
from service.core.port_answer import failed_answer, read_answer, read_down_servers, read_tool_list
from service.core.tool_port import AnswerStatus, DownServer, ToolAnswer

# A loaded machine is no reason to fail.
UNHURRIED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


def short(value: object) -> str:
    return repr(value)[:40]


def answered(*, cut: bool = False, **members: Any) -> ToolAnswer:
    return read_answer(json.dumps(members).encode(), cut=cut)


def result(content: Any, **members: Any) -> ToolAnswer:
    return answered(status="result", content=content, **members)


@pytest.mark.rules("X1")
@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("18 °C, sunny", "18 °C, sunny"),
        ("", ""),
        ('{"a": 1}', '{"a": 1}'),
        ("\u2028\u2029\x85\x00", "\u2028\u2029\x85\x00"),
        (None, "null"),
        (True, "true"),
        (1.5, "1.5"),
        (10**30, "1" + "0" * 30),
        ([], "[]"),
        ({"stadt": "Köln", "b": [1, None, "\u2028"]}, '{"stadt":"Köln","b":[1,null,"\u2028"]}'),
    ],
)
def test_a_string_is_the_text_as_it_is_and_all_else_compact_json(content: Any, text: str) -> None:
    assert result(content) == ToolAnswer(status=AnswerStatus.RESULT, text=text)


@pytest.mark.rules("X1")
@pytest.mark.parametrize(
    ("content", "text"), [("a\ud800b", "a\ufffdb"), (["\udfff"], '["\ufffd"]'), ("\ud83d\ude00", "😀")]
)
def test_half_a_surrogate_pair_is_replaced(content: Any, text: str) -> None:
    assert result(content).text == text


@pytest.mark.rules("X1", "X6")
def test_the_labels_of_an_answer_are_taken_over() -> None:
    assert result("x", **{"class": "secret", "untrusted": True, "more": 1}) == ToolAnswer(
        status=AnswerStatus.RESULT, text="x", data_class=DataClass.SECRET, untrusted=True
    )
    assert result("x", **{"class": "public", "untrusted": False}) == ToolAnswer(
        status=AnswerStatus.RESULT, text="x", data_class=DataClass.PUBLIC, untrusted=False
    )


@pytest.mark.rules("X1")
@pytest.mark.parametrize(
    ("members", "status", "text"),
    [
        ({"status": "failed", "message": "no such city"}, AnswerStatus.FAILED, "no such city"),
        ({"status": "failed"}, AnswerStatus.FAILED, ""),
        ({"status": "failed", "message": "a\ud800"}, AnswerStatus.FAILED, "a\ufffd"),
        ({"status": "denied", "reason": "not today"}, AnswerStatus.DENIED, "not today"),
        ({"status": "denied", "reason": None}, AnswerStatus.DENIED, ""),
        ({"status": "pending_approval", "reason": "a lot of money"}, AnswerStatus.PENDING_APPROVAL, "a lot of money"),
        ({"status": "pending_approval"}, AnswerStatus.PENDING_APPROVAL, ""),
    ],
)
def test_the_other_answers_carry_their_reason(members: dict[str, Any], status: AnswerStatus, text: str) -> None:
    assert answered(**members) == ToolAnswer(status=status, text=text)


@pytest.mark.rules("X1")
@pytest.mark.parametrize(
    ("body", "fault"),
    [
        (b"", "something that is not JSON"),
        (b"<html>Bad gateway</html>", "something that is not JSON"),
        (b'{"status": "result", "content": "x"', "something that is not JSON"),
        (b'{"status": "result", "content": "x"} {}', "something that is not JSON"),
        (b'{"status": "result", "content": NaN}', "something that is not JSON"),
        (b'{"status": "result", "content": ' + b"9" * 5_000 + b"}", "something that is not JSON"),
        (b'{"status": "result", "content": ' + b"[" * 200_000, "something that is not JSON"),
        (b'\xef\xbb\xbf{"status": "result", "content": "x"}', "something that is not JSON"),
        ('{"status": "result", "content": "x"}'.encode("utf-16"), "invalid UTF-8"),
        (b'{"status": "result", "content": "\xff"}', "invalid UTF-8"),
        (b'{"status": "result", "content": "\xed\xa0\x80"}', "invalid UTF-8"),
        (b"null", "JSON of another form"),
        (b'["result", "x"]', "JSON of another form"),
        (b'"result"', "JSON of another form"),
        (b"{}", "no status that is known"),
        (b'{"status": "ok", "content": "x"}', "no status that is known"),
        (b'{"status": ["result"], "content": "x"}', "no status that is known"),
        (b'{"status": "Result", "content": "x"}', "no status that is known"),
        (b'{"status": "result"}', "a result that has no content"),
        (b'{"status": "result", "content": 1e999}', "content that can't be written as JSON"),
        (b'{"status": "result", "content": "x", "class": "top"}', "a class that is not known"),
        (b'{"status": "result", "content": "x", "class": null}', "a class that is not known"),
        (b'{"status": "result", "content": "x", "class": {}}', "a class that is not known"),
        (b'{"status": "result", "content": "x", "untrusted": "yes"}', "a flag that is neither true nor false"),
        (b'{"status": "result", "content": "x", "untrusted": 0}', "a flag that is neither true nor false"),
        (b'{"status": "result", "content": "x", "untrusted": null}', "a flag that is neither true nor false"),
        (b'{"status": "failed", "message": {"a": 1}}', "a message that is not text"),
        (b'{"status": "denied", "reason": 5}', "a reason that is not text"),
    ],
    ids=short,
)
def test_what_is_none_of_the_answers_is_a_failed_call(body: bytes, fault: str) -> None:
    answer = read_answer(body)

    assert answer.status is AnswerStatus.FAILED
    assert answer.text.startswith(f"the tool port answered with {fault}")
    assert len(answer.text) < 100
    assert not answer.cut


@pytest.mark.rules("X2")
@pytest.mark.parametrize(
    ("body", "text"),
    [
        ('{"class": "internal", "untrusted": false, "status": "result", "content": "the begin', "the begin"),
        ('{"class": "internal", "untrusted": false, "content": "the beg\\u00e', "the beg"),
        ('{"class": "internal", "untrusted": false, "status": "result", "content": ["a", {"b', '["a", {"b'),
        ('{"class": "internal", "untrusted": false, "status": "result", "content": {"a": 1}, "more": "x', '{"a":1}'),
        ('{"class": "internal", "untrusted": false, "status": "result", "content": "a\ud800b', "a\ufffdb"),
    ],
)
def test_of_a_result_that_is_too_large_the_beginning_is_given(body: str, text: str) -> None:
    answer = read_answer(body.encode("utf-8", "surrogatepass").replace(b"\xed\xa0\x80", b"\\ud800"), cut=True)

    assert answer == ToolAnswer(
        status=AnswerStatus.RESULT, text=text, data_class=DataClass.INTERNAL, untrusted=False, cut=True
    )


@pytest.mark.rules("X2")
def test_a_cut_goes_between_characters() -> None:
    body = '{"status": "result", "content": "a😀'.encode()

    assert [read_answer(body[: len(body) - missing], cut=True).text for missing in range(5)] == [
        *("a😀", "a", "a", "a", "a")
    ]


@pytest.mark.rules("X2", "X6")
@pytest.mark.parametrize(
    "body",
    [
        b'{"status": "result", "content": "begin',
        b'{"status": "result", "content": "begin", "class": "pub',
        b'{"status": "result", "content": "begin", "untrusted": fals',
        b'{"status": "result", "content": "begin", "untrusted": false',
    ],
)
def test_labels_that_a_cut_took_away_are_taken_for_the_strictest(body: bytes) -> None:
    assert read_answer(body, cut=True) == ToolAnswer(
        status=AnswerStatus.RESULT, text="begin", data_class=DataClass.SECRET, untrusted=True, cut=True
    )


@pytest.mark.rules("X2")
@pytest.mark.parametrize(
    ("body", "answer"),
    [
        (b'{"status": "failed", "message": "too m', ToolAnswer(status=AnswerStatus.FAILED, text="too m", cut=True)),
        (b'{"status": "denied", "reason": "no", "x": "', ToolAnswer(status=AnswerStatus.DENIED, text="no", cut=True)),
        (b'{"status": "denied", "x": "yyy', ToolAnswer(status=AnswerStatus.DENIED, text="", cut=True)),
        (b'{"status": "result", "content": "x"}   ', ToolAnswer(status=AnswerStatus.RESULT, text="x")),
    ],
)
def test_of_other_large_answers_what_came_counts(body: bytes, answer: ToolAnswer) -> None:
    assert read_answer(body, cut=True) == answer


@pytest.mark.rules("X1", "X2")
@pytest.mark.parametrize(
    ("body", "fault"),
    [
        (b'{"status": "result", "notes": "xxx', "more than is read, and its content did not begin before that"),
        (b"     ", "more than is read, and its content did not begin before that"),
        (b'{"content": "x", "class": "top", "a": "b', "a class that is not known"),
        (b"xxxxxxxxxxxx", "something that is not JSON"),
        (b"[[[[[[[[[[[[", "something that is not JSON"),
        (b'{"status": "result", "content": ' + b"[" * 200_000, "something that is not JSON"),
        (b'{"status": "result", "content": "\xff\xff', "invalid UTF-8"),
    ],
    ids=short,
)
def test_of_a_large_body_that_makes_no_sense_nothing_is_given(body: bytes, fault: str) -> None:
    assert read_answer(body, cut=True) == failed_answer(f"answered with {fault}")


@pytest.mark.rules("X3")
def test_a_list_of_tools_is_given_as_it_is() -> None:
    tools = [{"name": "a", "anything": [1]}, {}]

    assert read_tool_list(json.dumps({"tools": tools, "next": None}).encode()) == tools
    assert read_tool_list(b'{"tools": []}') == []


@pytest.mark.rules("X3")
@pytest.mark.parametrize(
    ("body", "fault"),
    [
        (b"", "answered with something that is not JSON"),
        (b"\xff", "answered with invalid UTF-8"),
        (b"[]", "answered with JSON of another form than expected"),
        (b"{}", 'answered without a list "tools"'),
        (b'{"tools": {}}', 'answered without a list "tools"'),
        (b'{"tools": [{}, "weather"]}', "answered with JSON of another form than expected"),
        (b'{"tools": [{"a": NaN}]}', "answered with something that is not JSON"),
    ],
)
def test_what_is_no_list_of_tools_is_refused_in_one_line(body: bytes, fault: str) -> None:
    with pytest.raises(ToolPortFailure) as failure:
        read_tool_list(body)

    assert str(failure.value) == f"the tool port {fault}"


def test_the_servers_that_a_port_says_are_down_are_read_and_what_is_odd_is_passed_over() -> None:
    servers = [
        {"name": "up", "state": "up"},
        {"name": "gone", "state": "down", "said": "can't be reached", "more": 1},
        {"name": "mute", "state": "down"},
        {"name": "odd", "state": "down", "said": ["no text \ud800"]},
        {"name": 1, "state": "down"},
        {"state": "down"},
        "down",
    ]

    assert read_down_servers(json.dumps({"tools": [], "servers": servers}).encode()) == (
        DownServer(name="gone", said="can't be reached"),
        DownServer(name="mute", said="is down"),
        DownServer(name="odd", said="is down"),
    )


@pytest.mark.parametrize("body", [b"", b"[]", b'{"tools":[]}', b'{"servers":{}}', b'{"servers":null}'])
def test_a_port_that_says_nothing_of_servers_has_none_that_are_down(body: bytes) -> None:
    assert read_down_servers(body) == ()


FRAGMENTS = st.lists(
    st.sampled_from(
        ['{"status":"result"', '"content":', '"untrusted":true', '"class":"secret"', ",", "}", '"', "\\u", "[", "1"]
    )
    | st.text()
).map(lambda parts: "".join(parts).encode("utf-8", "surrogatepass"))


@pytest.mark.rules("X1", "X2")
@UNHURRIED
@given(st.binary() | FRAGMENTS, st.booleans())
def test_any_bytes_make_an_answer_that_can_be_kept(body: bytes, cut: bool) -> None:
    read_answer(body, cut=cut).text.encode()


@pytest.mark.rules("X3")
@UNHURRIED
@given(st.binary() | FRAGMENTS)
def test_any_bytes_make_a_list_or_one_failure(body: bytes) -> None:
    with contextlib.suppress(ToolPortFailure):
        read_tool_list(b'{"tools":[' + body + b"]}")
