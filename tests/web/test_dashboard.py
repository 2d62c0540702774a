"""The dashboard over HTTP: who is given its page and files, in which form and under which headers."""

import asyncio
import mimetypes
from pathlib import Path, PurePosixPath

import httpx
import pytest

from service.web.dashboard_files import FOLDER, MEDIA_TYPES, PAGE, read_dashboard, read_folder
from tests.web.fakes import FakeApplication
from tests.web.serving import HOST, Served, called

pytestmark = pytest.mark.anyio

FILES = {path.relative_to(FOLDER).as_posix(): path for path in sorted(FOLDER.rglob("*")) if path.is_file()}
LOADED = [name for name in FILES if name != PAGE]
SCRIPT = "dashboard/app.js"
BROWSER = {"Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8"}
SOME = ["/", "/dashboard/app.js", "/dashboard/vendor/uplot.css", "/dashboard/icon.svg"]
STATED = ("etag", "cache-control", "content-security-policy", "vary", "permissions-policy")


@pytest.mark.parametrize(
    "accept",
    [
        BROWSER["Accept"],
        "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
        "text/html",
        "text/*",
        "application/json;q=0.9, text/html",
    ],
)
async def test_a_browser_is_shown_the_page(http: httpx.AsyncClient, accept: str) -> None:
    response = await http.get("/", headers={"Accept": accept})

    assert response.status_code == 200
    assert response.headers["content-type"] == "text/html; charset=utf-8"
    assert response.headers["vary"] == "Accept"
    assert response.content == FILES[PAGE].read_bytes()


@pytest.mark.parametrize(
    "accept", ["*/*", "application/json", "application/json, text/html", "text/html;q=0.5, */*", "text/csv", ""]
)
async def test_whoever_is_no_browser_is_told_the_addresses(http: httpx.AsyncClient, accept: str) -> None:
    response = await http.get("/", headers={"Accept": accept})

    assert response.headers["content-type"] == "application/json"
    assert (response.headers["vary"], response.headers["cache-control"]) == ("Accept", "no-store")
    assert "script-src" not in response.headers["content-security-policy"]
    assert "GET /sessions" in response.json()["addresses"]


async def test_each_file_of_the_folder_is_served_as_it_is_with_its_type(
    http: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As on systems whose table has been changed by other programs.
    mimetypes.init()
    for suffix in MEDIA_TYPES:
        monkeypatch.setitem(mimetypes.types_map, suffix, "application/x-odd")
    assert {PurePosixPath(name).suffix for name in FILES} <= MEDIA_TYPES.keys()

    for name in LOADED:
        response = await http.get(f"/dashboard/{name}")
        assert (response.status_code, response.content) == (200, FILES[name].read_bytes()), name
        assert response.headers["content-type"] == MEDIA_TYPES[PurePosixPath(name).suffix], name


@pytest.mark.parametrize(
    ("suffix", "media_type"),
    [(".js", "text/javascript; charset=utf-8"), (".css", "text/css; charset=utf-8"), (".svg", "image/svg+xml")],
)
def test_files_have_the_types_that_browsers_ask_for(suffix: str, media_type: str) -> None:
    assert MEDIA_TYPES[suffix] == media_type


def test_only_files_of_a_known_type_are_read_from_the_folder(tmp_path: Path) -> None:
    (tmp_path / "views").mkdir()
    for name in ("views/a.js", "b.css", "c.py", ".js", "d.js.bak", "e"):
        (tmp_path / name).write_text(name, encoding="utf-8")

    files = read_folder(tmp_path)

    assert sorted(files) == ["b.css", "views/a.js"]
    assert files["b.css"].etag != files["views/a.js"].etag


async def test_the_files_are_read_without_holding_up_the_event_loop(application: FakeApplication) -> None:
    # A blocking read in the loop fails any test; here nothing has been read before.
    read_dashboard.cache_clear()

    async with called(application) as http:
        assert (await http.get("/", headers=BROWSER)).status_code == 200
        assert (await http.get(f"/{SCRIPT}")).status_code == 200


@pytest.mark.rules("K1", "K5")
@pytest.mark.parametrize("path", SOME)
async def test_the_dashboard_runs_what_comes_from_here_and_nothing_else(http: httpx.AsyncClient, path: str) -> None:
    headers = (await http.get(path, headers=BROWSER)).headers

    policy = dict(part.split(" ", 1) for part in headers["content-security-policy"].split("; "))
    assert policy == {
        "default-src": "'none'",
        "script-src": "'self'",
        "style-src": "'self'",
        "img-src": "'self' data:",
        "connect-src": "'self'",
        "base-uri": "'none'",
        "form-action": "'none'",
        "frame-ancestors": "'none'",
        "require-trusted-types-for": "'script'",
        "trusted-types": "dompurify",
    }
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cross-origin-opener-policy"] == "same-origin"
    assert headers["cross-origin-resource-policy"] == "same-origin"
    assert "camera=()" in headers["permissions-policy"]
    assert headers["cache-control"] == "no-cache"


@pytest.mark.rules("K1")
@pytest.mark.parametrize("path", ["/livez", "/openapi.json", "/dashboard/nothing.js"])
async def test_what_is_not_the_dashboard_runs_nothing(http: httpx.AsyncClient, path: str) -> None:
    headers = (await http.get(path, headers=BROWSER)).headers

    assert headers["content-security-policy"] == "default-src 'none'; frame-ancestors 'none'"
    assert headers["cache-control"] == "no-store"


@pytest.mark.parametrize("path", SOME)
@pytest.mark.parametrize("form", ["{tag}", 'W/{tag}, "b"', '"a", {tag}', "*"])
async def test_a_file_that_did_not_change_is_not_sent_again(service: Served, path: str, form: str) -> None:
    first = await service.http.get(path, headers=BROWSER)
    tags = form.format(tag=first.headers["etag"])

    again = await service.http.get(path, headers={**BROWSER, "If-None-Match": tags})

    assert (again.status_code, again.content) == (304, b"")
    assert [again.headers.get(name) for name in STATED] == [first.headers.get(name) for name in STATED]


@pytest.mark.parametrize("tags", ['"a"', "", 'W/"a", "b"', "unquoted"])
async def test_a_file_that_changed_is_sent(http: httpx.AsyncClient, tags: str) -> None:
    response = await http.get(f"/{SCRIPT}", headers={"If-None-Match": tags})

    assert (response.status_code, response.content) == (200, FILES["app.js"].read_bytes())


@pytest.mark.rules("H1")
@pytest.mark.parametrize("path", SOME)
async def test_head_of_the_dashboard_is_get_without_a_body(service: Served, path: str) -> None:
    head = await service.http.head(path, headers=BROWSER)
    got = await service.http.get(path, headers=BROWSER)

    assert (head.status_code, head.content) == (200, b"")
    assert {**head.headers, "date": ""} == {**got.headers, "date": ""}


@pytest.mark.rules("H2")
@pytest.mark.parametrize(
    "path",
    [
        "/dashboard",
        "/dashboard/",
        "/dashboard/vendor",
        "/dashboard/vendor/",
        "/dashboard/index.html",
        "/dashboard/nothing.js",
        "/dashboard/APP.js",
        "/dashboard/app.js/",
        "/dashboard//app.js",
        "/dashboard/./app.js",
        "/dashboard/views/../app.js",
        "/dashboard/../app.py",
        "/dashboard/%2e%2e/app.py",
        "/dashboard/..%2fapp.py",
        "/dashboard/..%5capp.py",
        "/dashboard/%2fetc%2fpasswd",
        "/dashboard/app.js%00",
        "/dashboard/%ff",
    ],
)
async def test_there_is_nothing_but_the_files_themselves(service: Served, path: str) -> None:
    head, _, body = (await raw_get(service, path)).partition(b"\r\n\r\n")

    assert head.startswith(b"HTTP/1.1 404 ")
    assert b"content-type: application/problem+json" in head.lower()
    assert b'"code":"not_found"' in body


async def raw_get(service: Served, path: str) -> bytes:
    """Ask for an address as it stands; a client of its own mind would take the dots out."""
    reader, writer = await asyncio.open_connection("127.0.0.1", service.port)
    writer.write(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
    async with asyncio.timeout(20):
        answer = await reader.read()
    writer.close()
    return answer


@pytest.mark.rules("H2")
@pytest.mark.parametrize("path", SOME)
async def test_the_dashboard_takes_no_query_and_is_only_read(http: httpx.AsyncClient, path: str) -> None:
    queried = await http.get(f"{path}?key=secret", headers=BROWSER)
    written = await http.delete(path)

    assert (queried.status_code, queried.json()["code"]) == (422, "validation")
    assert "secret" not in queried.text
    assert (written.status_code, written.headers["allow"]) == (405, "GET, HEAD")


@pytest.mark.rules("K1", "K2")
@pytest.mark.parametrize("path", SOME)
@pytest.mark.parametrize(
    ("header", "value", "status"),
    [
        ("Host", "evil.example", 421),
        ("Origin", "https://evil.example", 403),
        ("X-Forwarded-For", "192.0.2.1", 403),
    ],
)
async def test_the_page_is_guarded_as_the_api_is(
    http: httpx.AsyncClient, path: str, header: str, value: str, status: int
) -> None:
    assert (await http.get(path, headers={**BROWSER, header: value})).status_code == status
    assert (await http.get(path, headers={**BROWSER, "Origin": f"http://{HOST}"})).status_code == 200


@pytest.mark.rules("K2")
@pytest.mark.parametrize("path", SOME)
async def test_another_machine_is_not_shown_the_page(application: FakeApplication, path: str) -> None:
    async with called(application, peer="192.0.2.1") as http:
        assert (await http.get(path, headers=BROWSER)).status_code == 403
