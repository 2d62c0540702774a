"""Every refusal is a problem document with its own code, and tells nothing that it should not."""

import httpx
import pytest

from service.core.errors import ProblemCode, RequestRefused, SequenceConflict, StoreFailure
from service.web.problems import STATUS
from tests.secrets.canaries import PASSWORD
from tests.web.fakes import SESSION, FakeApplication, FakeSessions

pytestmark = [pytest.mark.anyio, pytest.mark.rules("H2")]

TURNS = "/sessions/ses_1/turns"


def problem(response: httpx.Response, status: int, code: str) -> dict[str, object]:
    document = response.json()
    assert response.status_code == status
    assert response.headers["content-type"] == "application/problem+json"
    assert document["status"] == status
    assert document["code"] == code
    assert document["type"] == "about:blank"
    assert document["title"]
    assert document["detail"]
    return document


@pytest.mark.parametrize("code", list(ProblemCode))
async def test_each_code_is_told_with_its_status(
    http: httpx.AsyncClient, sessions: FakeSessions, code: ProblemCode
) -> None:
    sessions.refusal = RequestRefused(code, "do something else", extensions={"hint": [1]})

    document = problem(await http.get("/sessions/ses_1"), STATUS[code].code, code)

    assert document["title"] == STATUS[code].phrase
    assert document["detail"] == "do something else"
    assert document["instance"] == "/sessions/ses_1"
    assert document["hint"] == [1]


def test_every_code_has_the_status_of_the_contract() -> None:
    assert {code.value: status.code for code, status in STATUS.items()} == {
        "validation": 422,
        "not_found": 404,
        "method_not_allowed": 405,
        "not_acceptable": 406,
        "turn_in_progress": 409,
        "session_full": 409,
        "not_pending": 409,
        "digest_mismatch": 409,
        "idempotency_mismatch": 422,
        "too_large": 413,
        "unsupported_media_type": 415,
        "wrong_host": 421,
        "unauthorized": 401,
        "forbidden": 403,
        "queue_full": 429,
        "rate_limited": 429,
        "tool_port_unavailable": 503,
        "shutting_down": 503,
        "internal": 500,
    }


@pytest.mark.rules("H4")
async def test_a_busy_session_names_its_turn_and_when_to_come_back(
    http: httpx.AsyncClient, sessions: FakeSessions
) -> None:
    sessions.refusal = RequestRefused(
        ProblemCode.TURN_IN_PROGRESS, "wait or cancel", extensions={"turn": "trn_0"}, retry_after_s=1
    )

    response = await http.post(TURNS, json={"content": "Hi"})

    assert problem(response, 409, "turn_in_progress")["turn"] == "trn_0"
    assert response.headers["retry-after"] == "1"


async def test_an_extension_never_hides_what_a_problem_is(http: httpx.AsyncClient, sessions: FakeSessions) -> None:
    sessions.refusal = RequestRefused(ProblemCode.SESSION_FULL, "shorter", extensions={"code": "x", "status": 1})

    problem(await http.get("/sessions/ses_1"), 409, "session_full")


@pytest.mark.parametrize(
    "path", ["/nothing", "/sessions/", "/sessions/ses_1/nothing", "/sessions//turns", "/favicon.ico"]
)
async def test_an_unknown_address_is_a_problem(http: httpx.AsyncClient, path: str) -> None:
    document = problem(await http.get(path), 404, "not_found")

    assert document["instance"] == path


@pytest.mark.parametrize("session", ["nonsense", "ses_2", "%00", "..%2F..", "%F0%9F%8D%B0", "a" * 5000, "'--"])
async def test_an_id_that_is_none_is_not_found(http: httpx.AsyncClient, session: str) -> None:
    problem(await http.get(f"/sessions/{session}"), 404, "not_found")


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("PUT", "/sessions", {"GET", "HEAD", "POST"}),
        ("POST", "/sessions/ses_1", {"GET", "HEAD", "PATCH", "DELETE"}),
        ("DELETE", TURNS, {"GET", "HEAD", "POST"}),
        ("GET", f"{TURNS}/trn_1/cancel", {"POST"}),
        ("OPTIONS", "/livez", {"GET", "HEAD"}),
        ("POST", "/openapi.json", {"GET", "HEAD"}),
    ],
)
async def test_a_wrong_method_names_all_that_are_right(
    http: httpx.AsyncClient, method: str, path: str, allowed: set[str]
) -> None:
    response = await http.request(method, path)

    problem(response, 405, "method_not_allowed")
    assert set(response.headers["allow"].split(", ")) == allowed


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[1", b'{"content":"Hi"} x', b'{"content":"\xff"}', b'{"content":"\\ud800"}', b"\xef\xbb\xbf{}"],
)
async def test_a_body_that_is_no_json_is_told_so(http: httpx.AsyncClient, body: bytes) -> None:
    response = await http.post(TURNS, content=body, headers={"Content-Type": "application/json"})

    detail = problem(response, 422, "validation")["detail"]
    assert isinstance(detail, str)
    assert detail.startswith("the body is ")


@pytest.mark.parametrize(
    ("number", "told"),
    [
        (b"NaN", "the body is not JSON"),
        (b"Infinity", "the body is not JSON"),
        (b"-Infinity", "the body is not JSON"),
        (b"1e999", "response_format has a number that is too large"),
    ],
)
async def test_a_number_that_can_t_be_kept_is_refused(http: httpx.AsyncClient, number: bytes, told: str) -> None:
    body = b'{"content":"Hi","response_format":{"a":%s}}' % number

    response = await http.post(TURNS, content=body, headers={"Content-Type": "application/json"})

    assert str(problem(response, 422, "validation")["detail"]).startswith(told)


async def test_endless_nesting_is_refused(http: httpx.AsyncClient) -> None:
    body = b'{"content":"Hi","response_format":{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}}"

    problem(await http.post(TURNS, content=body, headers={"Content-Type": "application/json"}), 422, "validation")


@pytest.mark.rules("K5")
@pytest.mark.parametrize("asked", [("GET", "/sessions/ses_1"), ("POST", TURNS)], ids=["ordinary way", "short way"])
async def test_a_mistake_of_ours_tells_callers_nothing_of_itself(
    http: httpx.AsyncClient, sessions: FakeSessions, asked: tuple[str, str]
) -> None:
    sessions.refusal = RuntimeError(f"password is {PASSWORD}")

    response = await http.request(*asked, json={"content": "Hi"})

    problem(response, 500, "internal")
    assert PASSWORD not in response.text
    assert response.headers["x-content-type-options"] == "nosniff"


@pytest.mark.rules("S5", "K5")
@pytest.mark.parametrize("error", [StoreFailure("disk full at /secret/path"), SequenceConflict("seq")])
async def test_a_store_that_fails_is_told_so_and_no_more(
    http: httpx.AsyncClient, sessions: FakeSessions, error: StoreFailure
) -> None:
    sessions.refusal = error

    response = await http.post(TURNS, json={"content": "Hi"})

    assert "store" in str(problem(response, 500, "internal")["detail"])
    assert "secret" not in response.text


@pytest.mark.rules("K5")
async def test_a_query_is_not_repeated_in_the_answer(http: httpx.AsyncClient) -> None:
    response = await http.get("/sessions?after=hunter2&limit=x")

    problem(response, 422, "validation")
    assert PASSWORD not in response.text


async def test_a_tool_port_that_is_away_is_told_so(http: httpx.AsyncClient, application: FakeApplication) -> None:
    application.tools.refusal = RequestRefused(ProblemCode.TOOL_PORT_UNAVAILABLE, "start the tool port")

    problem(await http.get("/tools"), 503, "tool_port_unavailable")


async def test_a_deleted_session_is_not_found(http: httpx.AsyncClient) -> None:
    deleted = await http.delete(f"/sessions/{SESSION}")

    assert (deleted.status_code, deleted.content) == (204, b"")
    problem(await http.get(f"/sessions/{SESSION}"), 404, "not_found")
    problem(await http.delete(f"/sessions/{SESSION}"), 404, "not_found")
