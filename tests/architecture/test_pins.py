"""The pinned requirements fit what pyproject.toml asks for, and each has hashes."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parent.parent.parent
PIN = re.compile(r"^(?P<name>[A-Za-z0-9._-]+)(\[[^]]*\])?==(?P<version>[^ ;\\]+)", re.MULTILINE)
FILES = sorted((ROOT / "requirements").glob("*.txt"))


def pins(file: str) -> dict[str, str]:
    text = (ROOT / "requirements" / file).read_text(encoding="utf-8")
    return {canonicalize_name(m["name"]): m["version"] for m in PIN.finditer(text)}


def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def wanted(group: str) -> list[Requirement]:
    entries: list[str | dict[str, str]] = project()["dependency-groups"][group]
    found: list[Requirement] = []
    for entry in entries:
        found += [Requirement(entry)] if isinstance(entry, str) else wanted(entry["include-group"])
    return found


def unfit(requirements: list[Requirement], pinned: dict[str, str]) -> list[str]:
    """Return the requirements that no pin fits."""
    return [
        str(requirement)
        for requirement in requirements
        if (version := pinned.get(canonicalize_name(requirement.name))) is None
        or not requirement.specifier.contains(Version(version), prereleases=True)
    ]


def test_the_runtime_pins_fit_the_dependencies() -> None:
    assert unfit([Requirement(text) for text in project()["project"]["dependencies"]], pins("runtime.txt")) == []


@pytest.mark.parametrize("group", ["test", "dev", "build", "deploy", "site", "lock"])
def test_the_pins_of_a_group_fit_it(group: str) -> None:
    assert unfit(wanted(group), pins(f"{group}.txt")) == []


def test_the_pinned_llama_server_fits_the_extra_demo() -> None:
    demo = [Requirement(text) for text in project()["project"]["optional-dependencies"]["demo"]]

    assert unfit(demo, pins("llama_server.txt")) == []


@pytest.mark.parametrize("extra", ["mcp", "traces"])
def test_what_the_image_and_each_make_word_install_has_the_extras(extra: str) -> None:
    wanted_by_it = [Requirement(text) for text in project()["project"]["optional-dependencies"][extra]]

    assert unfit(wanted_by_it, pins("runtime.txt")) == []


def test_no_two_files_pin_different_versions() -> None:
    versions: dict[str, set[str]] = {}
    for file in FILES:
        for name, version in pins(file.name).items():
            versions.setdefault(name, set()).add(version)

    assert {name: found for name, found in versions.items() if len(found) > 1} == {}


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_each_pin_has_hashes(file: Path) -> None:
    text = file.read_text(encoding="utf-8").replace("\\\n", " ")
    pinned = [line for line in text.splitlines() if PIN.match(line)]

    assert pinned
    assert [line for line in pinned if "--hash=sha256:" not in line] == []


def test_a_requirement_without_a_pin_and_one_outside_its_bounds_are_found() -> None:
    requirements = [Requirement("absent"), Requirement("old>=2"), Requirement("fitting>=1")]

    assert unfit(requirements, {"old": "1.9", "fitting": "1.0"}) == ["absent", "old>=2"]
