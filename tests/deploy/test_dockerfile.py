"""What the Dockerfile's build gets to see, and as whom the image runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from deploy.container.build_by_hand import ignore_patterns, is_sent, read_dockerfile
from service import __version__

ROOT = Path(__file__).parents[2]


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("path", "sent"),
    [
        ("service/web/app.py", True),
        ("requirements/runtime.txt", True),
        ("service/__pycache__/app.cpython-313.pyc", False),
        (".env", False),
        ("keys.json", False),
        (".git/config", False),
        ("tests/conftest.py", False),
    ],
)
def test_the_build_sees_what_it_copies_and_nothing_else(path: str, sent: bool) -> None:
    assert is_sent(path, ignore_patterns(read(".dockerignore"))) is sent


def test_the_image_runs_as_a_user_of_its_own_and_gets_signals_itself() -> None:
    instructions = read_dockerfile(read("Dockerfile"))
    last = {one.word: one for one in instructions if one.stage == instructions[-1].stage}

    assert last["USER"].rest == "10001:10001"
    assert last["STOPSIGNAL"].rest == "SIGTERM"
    assert last["ENTRYPOINT"].words() == ["/bin/sh", "/opt/turnkeeper/container/start.sh"]
    assert re.search(r'^exec turnkeeper "\$@"$', read("deploy/container/start.sh"), re.MULTILINE)
    assert all("latest" not in one.rest for one in instructions if one.word == "FROM")


def test_the_label_says_the_version_that_is_in_the_image() -> None:
    dockerfile = read("Dockerfile")

    assert re.findall(r"^ARG VERSION=(.*)$", dockerfile, re.MULTILINE) == [__version__]
    assert 'org.opencontainers.image.version="${VERSION}"' in dockerfile
