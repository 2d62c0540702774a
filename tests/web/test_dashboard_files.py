"""What the dashboard's files say: all that they load is there and comes from here, and they are in the package."""

import re
from html.parser import HTMLParser
from pathlib import Path, PurePosixPath
from posixpath import normpath

import httpx
import pytest
from hatchling.builders.wheel import WheelBuilder

from service.web.dashboard_files import FOLDER, PAGE

pytestmark = pytest.mark.anyio

ROOT = Path(__file__).parents[2]
FILES = {path.relative_to(FOLDER).as_posix(): path for path in sorted(FOLDER.rglob("*")) if path.is_file()}

# The ways by which a script or a style names another file.
IMPORT = re.compile(r"""(?<!["'`])\b(?:from|import)\s*\(?\s*["'`]([^"'`\n]+)["'`]""")
STYLE_ADDRESS = re.compile(r"""(?:@import\s*|\burl\(\s*)["']?([^"')\s;]+)""")
ELSEWHERE = re.compile(
    r"""(?:\b(?:fetch|import|importScripts|open|sendBeacon|EventSource|WebSocket|Worker|XMLHttpRequest|Image)\s*\(\s*"""
    r"""|\b(?:src|href|action)\s*=\s*)["'`]\s*(?:https?:|wss?:|//)""",
    re.IGNORECASE,
)


class Markup(HTMLParser):
    """What a page names, and what in it a strict policy would refuse."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self.inline: list[str] = []
        self._within = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._within = tag
        self.addresses += [value or "" for name, value in attrs if name in ("src", "href")]
        self.inline += [name for name, _ in attrs if name == "style" or name.startswith("on")]

    def handle_endtag(self, tag: str) -> None:
        self._within = ""

    def handle_data(self, data: str) -> None:
        if self._within in ("script", "style") and data.strip():
            self.inline.append(data)


@pytest.fixture
def page() -> Markup:
    markup = Markup()
    markup.feed(FILES[PAGE].read_text(encoding="utf-8"))
    return markup


async def test_the_page_loads_what_is_there_by_relative_addresses(http: httpx.AsyncClient, page: Markup) -> None:
    assert "dashboard/app.js" in page.addresses
    for address in page.addresses:
        assert not address.startswith("/"), "it may be served under a prefix"
        assert (await http.get(f"/{address}")).status_code == 200, address


@pytest.mark.rules("K5")
def test_the_page_has_nothing_inline(page: Markup) -> None:
    assert page.inline == []


def test_the_page_loads_each_style(page: Markup) -> None:
    styles = {f"dashboard/{name}" for name in FILES if name.endswith(".css")}

    assert {address for address in page.addresses if address.endswith(".css")} == styles


def test_each_module_that_is_imported_is_there() -> None:
    missing = {
        f"{name}: {imported}"
        for name, text in texts(".js").items()
        for imported in IMPORT.findall(text)
        if not imported.startswith(("./", "../")) or beside(name, imported) not in FILES
    }

    assert missing == set()


@pytest.mark.rules("K5")
def test_no_file_loads_anything_from_elsewhere() -> None:
    named = {name: found for name, text in texts(".js").items() if (found := ELSEWHERE.findall(text))}
    styles = {
        f"{name}: {address}"
        for name, text in texts(".css").items()
        for address in STYLE_ADDRESS.findall(text)
        if not address.startswith("data:") and beside(name, address) not in FILES
    }

    assert (named, styles) == ({}, set())


@pytest.mark.parametrize(
    "text",
    ['fetch("https://a.example")', "new WebSocket(`wss://a`)", "import('//a/b.js')", 'script.src = "http://a"'],
)
def test_what_is_loaded_from_elsewhere_is_found(text: str) -> None:
    assert ELSEWHERE.search(text)


def texts(suffix: str) -> dict[str, str]:
    return {name: path.read_text(encoding="utf-8") for name, path in FILES.items() if name.endswith(suffix)}


def beside(name: str, address: str) -> str:
    return normpath(f"{PurePosixPath(name).parent}/{address}")


def test_each_file_is_in_the_package() -> None:
    packed = {file.distribution_path for file in WheelBuilder(str(ROOT)).recurse_included_files()}

    assert {f"service/web/dashboard/{name}" for name in FILES} <= packed
