"""The files of the report: written, or compared with what the figures say.

Above: the command lines and a test. Below: the page and its pictures.
"""

from __future__ import annotations

from pathlib import Path

from benchmarks.report.bars import as_svg
from benchmarks.report.page import page, picture_name
from benchmarks.report.plots import PLOTS
from benchmarks.results import Results, read_results

ROOT = Path(__file__).parent.parent.parent
RESULTS = ROOT / "benchmarks" / "results.json"
"""What is published."""
_DOCS = ROOT / "docs"
_PAGE = Path("performance.md")
_PICTURES = Path("images")


def rendered(results: Results) -> dict[Path, str]:
    """Give the text of each file by its path within the folder of the docs."""
    files = {_PAGE: page(results)}
    for plot in PLOTS:
        bars = plot.bars(results)
        if bars is not None:
            files[_PICTURES / picture_name(plot.name)] = as_svg(bars)
    return files


def write(results: Results, docs: Path = _DOCS) -> None:
    """Write all files, and remove pictures of what isn't measured any more."""
    files = rendered(results)
    for name, text in files.items():
        (docs / name).parent.mkdir(parents=True, exist_ok=True)
        (docs / name).write_text(text, encoding="utf-8")
    for left in _written_files(docs) - files.keys():
        (docs / left).unlink()


def differences(results_file: Path = RESULTS, docs: Path = _DOCS) -> list[str]:
    """Name the files that are not what the figures say, each with what is wrong.

    Raises:
        ValueError: the figures can't be read.
        KeyError: one of their members is missing.
        TypeError: one of their members is another than expected.
    """
    files = rendered(read_results(results_file)) if results_file.exists() else {}
    found = [f"{name} has no figures to be made from" for name in sorted(_written_files(docs) - files.keys())]
    for name, text in files.items():
        if not (docs / name).exists():
            found.append(f"{name} is not there")
        elif (docs / name).read_text(encoding="utf-8") != text:
            found.append(f"{name} is not what the figures say")
    return found


def _written_files(docs: Path) -> set[Path]:
    pages = {_PAGE} if (docs / _PAGE).exists() else set[Path]()
    return pages | {path.relative_to(docs) for path in (docs / _PICTURES).glob(picture_name("*"))}
