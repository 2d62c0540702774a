"""Runs the steps of the Dockerfile in an empty folder, where there is no container engine.

Each path of the image stands for one below that folder, and both stages share it. Run are the steps of the first stage:
those of the second make users, for which the caller cares. Above: `try_image.py`. Below: the Dockerfile, .dockerignore.
"""

from __future__ import annotations

import fnmatch
import json
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from deploy.container.base_python import base_python

_ASSIGNED = re.compile(r'(\w+)=("[^"]*"|\S+)')
_FOLDERS = re.compile(r"/(?=(?:opt|src|data|monitoring)\b)")
_BUILD_S = 600


@dataclass(frozen=True, slots=True, kw_only=True)
class Instruction:
    """One instruction, its lines joined, in the stage with this number."""

    stage: int
    word: str
    rest: str

    def words(self) -> list[str]:
        """Give the words of the exec form.

        Raises:
            ValueError: it is written in another form.
        """
        return list(map(str, json.loads(self.rest)))


def read_dockerfile(text: str) -> tuple[Instruction, ...]:
    """Split a Dockerfile; comments and blank lines are left out."""
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    joined = re.sub(r"\s*\\\n\s*", " ", "\n".join(lines))
    found: list[Instruction] = []
    stage = -1
    for line in joined.splitlines():
        word, _, rest = line.partition(" ")
        stage += word == "FROM"
        found.append(Instruction(stage=stage, word=word, rest=rest.strip()))
    return tuple(found)


def is_sent(path: str, patterns: list[str]) -> bool:
    """Say whether a file of the project is part of the build: the last pattern that fits it or a folder of it says so.

    Understood is as much of the language of .dockerignore as the project's file uses: `*`, `**/` at the start, `!`.
    """
    sent = True
    places = [str(place) for place in (PurePosixPath(path), *PurePosixPath(path).parents) if place.name]
    for pattern in patterns:
        wanted = pattern.removeprefix("!")
        anywhere = wanted.startswith("**/")
        tried = [PurePosixPath(place).name for place in places] if anywhere else places
        if any(_fits(place, wanted.removeprefix("**/")) for place in tried):
            sent = pattern.startswith("!")
    return sent


def _fits(place: str, pattern: str) -> bool:
    # A star of .dockerignore ends at a slash.
    return place.count("/") == pattern.count("/") and fnmatch.fnmatchcase(place, pattern)


def ignore_patterns(text: str) -> list[str]:
    """Give the patterns of a .dockerignore."""
    return [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """What the Dockerfile in `project` makes, below `root`."""

    project: Path
    root: Path

    def instructions(self) -> tuple[Instruction, ...]:
        """Read the Dockerfile."""
        return read_dockerfile((self.project / "Dockerfile").read_text(encoding="utf-8"))

    def below(self, text: str) -> str:
        """Put the root before the paths of the image in a text."""
        return _FOLDERS.sub(f"{self.root}/", text)

    def last(self, word: str) -> Instruction:
        """Give the last stage's last instruction of a kind.

        Raises:
            ValueError: there is none.
        """
        instructions = self.instructions()
        found = [one for one in instructions if one.word == word and one.stage == instructions[-1].stage]
        if not found:
            raise ValueError(f"the last stage has no {word}")
        return found[-1]

    def environment(self, outer: Mapping[str, str]) -> dict[str, str]:
        """Give what the last stage sets, over a few variables of this process."""
        instructions = self.instructions()
        given: dict[str, str] = {}
        for one in instructions:
            if one.word == "ENV" and one.stage == instructions[-1].stage:
                for name, value in _ASSIGNED.findall(one.rest):
                    given[name] = self.below(value.strip('"')).replace("$PATH", outer["PATH"])
        return given

    def build(self) -> None:
        """Copy and run what the first stage does, from files that .dockerignore lets through only.

        Raises:
            subprocess.CalledProcessError: a step failed; it has written why.
        """
        context, workdir, python = self.root / "context", self.root, base_python(self.root)
        for path in self._sent_files():
            (context / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(self.project / path, context / path)
        for one in self.instructions():
            if one.stage == 0 and one.word == "WORKDIR":
                workdir = Path(self.below(one.rest))
                workdir.mkdir(parents=True)
            elif one.stage == 0 and one.word == "COPY":
                self._copy(one.rest.split(), context, workdir)
            elif one.stage == 0 and one.word == "RUN":
                command = re.sub(r"(?<![\w/])python -m", f"{python} -m", self.below(one.rest))
                subprocess.run(["/bin/sh", "-ec", command], cwd=workdir, check=True, timeout=_BUILD_S)
        for left in (context, self.root / "src", self.root / "opt/builder", self.root / "opt/wheels"):
            shutil.rmtree(left)

    def _sent_files(self) -> Iterator[str]:
        patterns = ignore_patterns((self.project / ".dockerignore").read_text(encoding="utf-8"))
        # All that the Dockerfile copies, and nothing of .git or .venv, which would take long to look through.
        for one in self.instructions():
            if one.stage == 0 and one.word == "COPY":
                for source in one.rest.split()[:-1]:
                    place = self.project / source
                    files = [place] if place.is_file() else [path for path in place.rglob("*") if path.is_file()]
                    names = (path.relative_to(self.project).as_posix() for path in files)
                    yield from (name for name in names if is_sent(name, patterns))

    def _copy(self, words: list[str], context: Path, workdir: Path) -> None:
        *sources, target = words
        # An absolute path takes the place of what stands before it.
        place = workdir / self.below(target)
        for source in sources:
            if (context / source).is_dir():
                shutil.copytree(context / source, place)
            else:
                place.mkdir(parents=True, exist_ok=True)
                shutil.copy2(context / source, place)
