"""`docs/howto/run-with-systemd.md` installs what there is, where the units look for it."""

from __future__ import annotations

import glob
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
UNITS = ROOT / "deploy/systemd"
PAGE = (ROOT / "docs/howto/run-with-systemd.md").read_text(encoding="utf-8")


def installed() -> dict[str, str]:
    """Give each file of ours that the page copies, with the place where it is then."""
    places: dict[str, str] = {}
    for sources, target in re.findall(r"install (?:-D )?--mode=\d+ ((?:deploy/\S+ )+)(/[^\s`]+)", PAGE):
        for pattern in sources.split():
            for name in glob.glob(pattern, root_dir=ROOT):
                places[Path(name).name] = target + (Path(name).name if target.endswith("/") else "")
    return places


def test_each_file_is_installed_where_its_first_line_says_that_it_belongs() -> None:
    places = installed()

    assert set(places) == {path.name for path in UNITS.iterdir()}
    for name, place in places.items():
        assert (UNITS / name).read_text(encoding="utf-8").startswith(f"# {place}")


@pytest.mark.parametrize("key", ["EnvironmentFile", "WorkingDirectory", "ReadWritePaths", "ExecStart"])
def test_what_the_units_look_for_is_made_by_the_page(key: str) -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in UNITS.glob("*.service"))
    wanted = {value.split()[0] for value in re.findall(rf"^{key}=(.*)$", text, re.MULTILINE)}

    assert wanted
    assert [path for path in wanted if path.removesuffix("/bin/turnkeeper") not in PAGE] == []


def test_the_requirements_that_the_page_installs_are_there() -> None:
    named = re.findall(r"--requirement (\S+)", PAGE)

    assert named
    assert [name for name in named if not (ROOT / name).is_file()] == []
