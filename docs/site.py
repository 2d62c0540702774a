"""Lay out the pages for the site generator and have it build them: `python -m docs.site` writes `dist/site/html`.

Pages link to files of the repository that are no pages: each of them becomes one, below `repository/`, so that the
site is whole by itself. Diagrams are drawn here, since a browser would load their renderer from elsewhere. Above:
`make site`. Below: zensical and mmdr.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
SITE = ROOT / "dist" / "site"
CONFIG = "zensical.toml"
STYLE = "site.css"
# What a browser shows by itself, and pages.
AS_IT_IS = (".md", ".png", ".svg", ".json")
# A longer file is no text to read in a page; it is copied as it is, too.
LONGEST_CODE_BYTES = 100_000

LINK = re.compile(r"(?<=\]\()(?!https?:|mailto:|#)([^)\s#]+)(#[^)\s]*)?(?=\))")
FENCED = re.compile(r"^( *)(`{3,})([^\n`]*)\n(.*?)^ *\2 *$\n?", re.MULTILINE | re.DOTALL)
# The labels of arrows that lead back to where they began are drawn upon one another; the page's table has them.
BACK_TO_ITSELF = re.compile(r"^ *(\w+) --> \1:.*\n", re.MULTILINE)
# The generator wants four blanks before what belongs to an item of a list.
IN_AN_ITEM = re.compile(r"^ {2,3}(?=\S)", re.MULTILINE)
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
HIDDEN_FROM_SEARCH = "---\nsearch:\n  exclude: true\n---\n\n"


class SiteBroken(Exception):
    """The pages can't be laid out; the message is one line that names the page."""


class Layout:
    """The pages as they are laid out in a folder: those of `docs`, and each file that one of them leads to.

    `draw` makes an SVG of a diagram's words.
    """

    def __init__(self, folder: Path, draw: Callable[[str], str]) -> None:
        self._folder = folder
        self._draw = draw
        self._waiting = sorted(DOCS.rglob("*.md"))
        self._known = set(self._waiting)
        self._diagrams = 0

    def write(self) -> None:
        """Write all of them.

        Raises:
            SiteBroken: a link leads nowhere.
        """
        while self._waiting:
            source = self._waiting.pop()
            target = self._folder / place_of(source)
            target.parent.mkdir(parents=True, exist_ok=True)
            if source.suffix == ".md":
                target.write_text(self._page(source, target), encoding="utf-8")
            elif source.is_dir():
                target.write_text(_listing(source), encoding="utf-8")
            elif is_shown(source):
                target.write_text(_code(source), encoding="utf-8")
            else:
                shutil.copyfile(source, target)

    def _page(self, source: Path, target: Path) -> str:
        text = source.read_text(encoding="utf-8")
        head = "" if source.is_relative_to(DOCS) else HIDDEN_FROM_SEARCH
        pieces: list[str] = []
        at = 0
        for fence in FENCED.finditer(text):
            pieces.append(self._prose(source, text[at : fence.start()]))
            pieces.append(self._fence(fence, target))
            at = fence.end()
        pieces.append(self._prose(source, text[at:]))
        return head + "".join(pieces)

    def _prose(self, source: Path, text: str) -> str:
        return IN_AN_ITEM.sub("    ", LINK.sub(lambda link: self._link(source, link), text))

    def _link(self, source: Path, link: re.Match[str]) -> str:
        leads_to = (source.parent / link[1]).resolve()
        if not leads_to.exists() or not leads_to.is_relative_to(ROOT):
            raise SiteBroken(f"{source.relative_to(ROOT)}: {link[1]} leads nowhere")
        if (leads_to / "README.md").exists():
            leads_to /= "README.md"
        if leads_to not in self._known:
            self._known.add(leads_to)
            self._waiting.append(leads_to)
        return os.path.relpath(place_of(leads_to), place_of(source).parent).replace(os.sep, "/") + (link[2] or "")

    def _fence(self, fence: re.Match[str], target: Path) -> str:
        indent, _, language, body = fence.groups()
        if language.strip() != "mermaid":
            return fence[0] if len(indent) not in (2, 3) else re.sub(r"^ {2,3}", "    ", fence[0], flags=re.MULTILINE)
        self._diagrams += 1
        name = f"{target.stem}-{self._diagrams}.svg"
        (target.parent / name).write_text(self._draw(BACK_TO_ITSELF.sub("", body)), encoding="utf-8")
        return f"\n![The diagram, drawn]({name})\n"


def place_of(source: Path) -> PurePosixPath:
    """Give where a file of the repository stands below the pages."""
    if source.is_relative_to(DOCS):
        within = PurePosixPath(source.relative_to(DOCS).as_posix())
    else:
        within = PurePosixPath("repository") / source.relative_to(ROOT).as_posix()
    return within.with_name(f"{within.name}.md") if source.is_dir() or is_shown(source) else within


def is_shown(source: Path) -> bool:
    """Say whether a file becomes a page that shows it as it is."""
    return source.suffix not in AS_IT_IS and source.stat().st_size <= LONGEST_CODE_BYTES


def _code(source: Path) -> str:
    text = source.read_text(encoding="utf-8")
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    language = source.suffix.removeprefix(".")
    return f"{HIDDEN_FROM_SEARCH}# {source.relative_to(ROOT)}\n\n{fence}{language}\n{text.rstrip()}\n{fence}\n"


def _listing(folder: Path) -> str:
    files = sorted(path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    names = "\n".join(f"- `{name}`" for name in files if "__pycache__" not in name.parts)
    return f"{HIDDEN_FROM_SEARCH}# {folder.relative_to(ROOT)}\n\n{names}\n"


def draw(diagram: str) -> str:
    """Draw a diagram of Mermaid as SVG."""
    # Not at the top: the tests lay out the pages without it.
    import mmdr

    # Its labels are measured by a font that browsers don't have: smaller ones fit, whatever is taken in its place.
    return mmdr.render(diagram).svg().replace("font-size:14px", "font-size:12px")  # pyright: ignore[reportUnknownMemberType]


def build() -> Path:
    """Lay out the pages, have the generator build them, and give the folder of the site.

    Raises:
        SiteBroken: a link or an anchor leads nowhere.
    """
    shutil.rmtree(SITE, ignore_errors=True)
    (SITE / "pages").mkdir(parents=True)
    shutil.copyfile(DOCS / CONFIG, SITE / CONFIG)
    shutil.copyfile(DOCS / STYLE, SITE / "pages" / STYLE)
    Layout(SITE / "pages", draw).write()
    built = subprocess.run(
        [sys.executable, "-m", "zensical", "build", "--clean", "--strict", "--config-file", CONFIG],
        cwd=SITE,
        capture_output=True,
        text=True,
        check=False,
    )
    if built.returncode != 0:
        said = COLOUR.sub("", built.stdout + built.stderr).partition("Traceback (most recent call last)")[0]
        raise SiteBroken(f"zensical refused the pages:\n{said.rstrip()}")
    return SITE / "html"


if __name__ == "__main__":
    try:
        sys.stdout.write(f"the site is in {build().relative_to(ROOT)}\n")
    except SiteBroken as broken:
        sys.exit(f"site: {broken}")
