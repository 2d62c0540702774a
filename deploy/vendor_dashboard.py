"""Copy the dashboard's libraries from npm into the tree, at pinned versions, with their licences.

`python -m deploy.vendor_dashboard` fetches them through npm, which must be there; `--check` only compares what lies
in the folder with `VENDOR.json` and needs no network. Standard library only. To take a newer release, change its
version in `LIBRARIES`. Above: whoever brings the libraries up to date. Below: npm's own client.
"""

from __future__ import annotations

import base64
import hashlib
import io
import json
import re
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

VENDOR = Path(__file__).resolve().parent.parent / "service" / "web" / "dashboard" / "vendor"
LIST = "VENDOR.json"
OURS = frozenset({LIST, "htm-preact.js"})
"""What in the folder is our own: the list, and the module that ties preact and htm together."""

_SOURCE_MAP = re.compile(rb"^(?://|/\*)[#@]\s*sourceMappingURL=.*\n?", re.MULTILINE)


class VendoringFailed(Exception):
    """The libraries were not brought up to date; the message is one line for the person at the terminal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Library:
    """A package on npm, and which of its files the dashboard loads, by the name that they get here.

    `renamed` are the names of modules that it imports, as they are called here.
    """

    name: str
    version: str
    licence: str
    files: Mapping[str, str]
    renamed: Mapping[str, str] = field(default_factory=dict[str, str])


LIBRARIES = (
    Library(
        name="preact",
        version="11.2.0",
        licence="MIT",
        files={"dist/preact.mjs": "preact.js", "hooks/dist/hooks.mjs": "preact-hooks.js"},
        renamed={"preact": "./preact.js"},
    ),
    Library(name="htm", version="3.1.1", licence="Apache-2.0", files={"dist/htm.module.js": "htm.js"}),
    Library(name="marked", version="18.2.1", licence="MIT", files={"lib/marked.esm.js": "marked.js"}),
    # Offered under the MPL 2.0 too; its file LICENSE is the one that we take it under.
    Library(name="dompurify", version="3.5.0", licence="Apache-2.0", files={"dist/purify.es.mjs": "purify.js"}),
    Library(
        name="uplot",
        version="1.6.32",
        licence="MIT",
        files={"dist/uPlot.esm.js": "uplot.js", "dist/uPlot.min.css": "uplot.css"},
    ),
)


def main(arguments: list[str]) -> int:
    """Do what the command line says; return the exit code."""
    try:
        if arguments == ["--check"]:
            return _told(differences(VENDOR), "the libraries are those of VENDOR.json")
        if arguments:
            sys.stderr.write("usage: python -m deploy.vendor_dashboard [--check]\n")
            return 2
        fetch_all(VENDOR)
        return _told(differences(VENDOR), f"wrote {len(LIBRARIES)} libraries")
    except VendoringFailed as failure:
        return _told([str(failure)], "")


def _told(wrong: list[str], right: str) -> int:
    for line in wrong:
        sys.stderr.write(f"vendor: {line}\n")
    if not wrong:
        sys.stdout.write(f"vendor: {right}\n")
    return 1 if wrong else 0


def fetch_all(folder: Path) -> None:
    """Fetch each library and write its files, its licence and the list.

    Raises:
        VendoringFailed: npm is missing or can't give a package, or a package isn't what it was or should be.
    """
    known = {(entry["name"], entry["version"]): entry["integrity"] for entry in listed(folder)}
    entries: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as place:
        for library in LIBRARIES:
            package = pack(library, Path(place))
            integrity = _integrity(package)
            if known.get((library.name, library.version), integrity) != integrity:
                raise VendoringFailed(f"{library.name} {library.version} is another package than before")
            entries.append(_entry(library, integrity, write_files(library, unpacked(package), folder)))
    text = json.dumps({"libraries": entries}, indent=2)
    (folder / LIST).write_text(f"{text}\n", encoding="utf-8", newline="\n")


def pack(library: Library, folder: Path) -> bytes:
    """Let npm fetch a package, as it is published; give its bytes.

    Raises:
        VendoringFailed: npm is missing or failed.
    """
    command = ["npm", "pack", f"{library.name}@{library.version}", "--ignore-scripts", "--silent"]
    try:
        ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        raise VendoringFailed("npm is not installed, and the libraries come from it") from error
    if ran.returncode != 0:
        said = [*ran.stderr.split("\n"), *ran.stdout.split("\n")]
        raise VendoringFailed(f"npm could not give {library.name} {library.version}: {next(filter(None, said), '')}")
    return (folder / f"{library.name}-{library.version}.tgz").read_bytes()


def unpacked(package: bytes) -> dict[str, bytes]:
    """Give the files of a package by their paths in it, read in memory: nothing in it is run or written as it says."""
    files: dict[str, bytes] = {}
    with tarfile.open(fileobj=io.BytesIO(package), mode="r:gz") as archive:
        for member in archive:
            content = archive.extractfile(member) if member.isfile() else None
            if content is not None:
                files[member.name.partition("/")[2]] = content.read()
    return files


def write_files(library: Library, package: Mapping[str, bytes], folder: Path) -> dict[str, str]:
    """Write what the dashboard loads of a library, and its licence; give the SHA-256 of each file by its name.

    Raises:
        VendoringFailed: the package lacks one of the files, or its licence changed.
    """
    _check_licence(library, package)
    wanted = {**library.files, "LICENSE": f"licenses/{library.name}.txt"}
    if missing := [source for source in wanted if source not in package]:
        raise VendoringFailed(f"{library.name} {library.version} has no file {', '.join(missing)}")
    (folder / "licenses").mkdir(parents=True, exist_ok=True)
    written: dict[str, str] = {}
    for source, name in wanted.items():
        content = package[source] if source == "LICENSE" else as_loaded(library, package[source])
        (folder / name).write_bytes(content)
        written[name] = hashlib.sha256(content).hexdigest()
    return written


def as_loaded(library: Library, content: bytes) -> bytes:
    """Give a module as the browser loads it: without its source map, and importing its neighbours by their files."""
    content = _SOURCE_MAP.sub(b"", content.replace(b"\r\n", b"\n"))
    for module, file in library.renamed.items():
        imported = re.compile(rb"""(\bfrom\s*|\bimport\s*)(["'])%s\2""" % re.escape(module.encode()))
        content = imported.sub(rb"\1\2%s\2" % file.encode(), content)
    return content


def differences(folder: Path) -> list[str]:
    """Compare the folder with its list and the list with `LIBRARIES`; give what differs, a line each."""
    try:
        entries = listed(folder)
        named = {file["file"]: file["sha256"] for entry in entries for file in entry["files"]}
    except (KeyError, TypeError, ValueError):
        return [f"{LIST} can't be read"]
    wrong = _list_differences(entries)
    for name, sha256 in sorted(named.items()):
        path = folder / name
        if not path.is_file():
            wrong.append(f"{name} is missing")
        elif hashlib.sha256(path.read_bytes()).hexdigest() != sha256:
            wrong.append(f"{name} is not what {LIST} says")
    there = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    return wrong + [f"{name} is not named in {LIST}" for name in sorted(there - named.keys() - OURS)]


def listed(folder: Path) -> list[dict[str, Any]]:
    """Read the list: each library with its version, licence, integrity and files; nothing where there is no list."""
    path = folder / LIST
    return json.loads(path.read_text(encoding="utf-8"))["libraries"] if path.exists() else []


def _list_differences(entries: list[dict[str, Any]]) -> list[str]:
    pinned = {library.name: library.version for library in LIBRARIES}
    named = {entry["name"]: entry["version"] for entry in entries}
    return [
        f"{name} is pinned at {pinned.get(name, 'no version')} and listed at {named.get(name, 'no version')}"
        for name in sorted(pinned.keys() | named.keys())
        if pinned.get(name) != named.get(name)
    ]


def _entry(library: Library, integrity: str, written: Mapping[str, str]) -> dict[str, Any]:
    return {
        "name": library.name,
        "version": library.version,
        "licence": library.licence,
        "integrity": integrity,
        "files": [{"file": name, "sha256": sha256} for name, sha256 in written.items()],
    }


def _integrity(package: bytes) -> str:
    return f"sha512-{base64.b64encode(hashlib.sha512(package).digest()).decode()}"


def _check_licence(library: Library, package: Mapping[str, bytes]) -> None:
    told = str(json.loads(package.get("package.json", b"{}")).get("license", ""))
    offered = re.split(r"\s+OR\s+", told.strip("()"))
    if library.licence not in offered:
        raise VendoringFailed(
            f"{library.name} {library.version} is under {told or 'no licence'}, not {library.licence}"
        )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
