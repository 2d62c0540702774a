"""Has Compose read its files, without an engine: `python -m deploy.check_compose`.

Each file alone and together, with all profiles: with no variable set, and with each that .env.example explains at the
value which it shows there. Both must come to the same, since those are said to be the defaults.
Above: `make check-deploy`. Below: compose.yaml, compose.gpu.yaml, .env.example.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from deploy.checkers import CheckFailed, program, run

ROOT = Path(__file__).resolve().parent.parent
FILES = (("compose.yaml",), ("compose.yaml", "compose.gpu.yaml"))


def main() -> None:
    """Read all that can be read together; leave with 1 and what Compose says where it refuses."""
    try:
        with tempfile.TemporaryDirectory() as folder:
            defaults = Path(folder) / "defaults"
            defaults.write_text(shown_defaults((ROOT / ".env.example").read_text(encoding="utf-8")), encoding="utf-8")
            for files in FILES:
                _check(files, defaults)
    except (CheckFailed, subprocess.SubprocessError) as failure:
        sys.exit(f"compose: {failure}")


def shown_defaults(example: str) -> str:
    """Take the # away before each variable of an example file; Compose's own variables are left out."""
    lines = re.findall(r"^#?([A-Z_]+=.*)$", example, re.MULTILINE)
    return "".join(f"{line}\n" for line in lines if not line.startswith("COMPOSE_"))


def _check(files: tuple[str, ...], defaults: Path) -> None:
    bare, shown = _read(files, Path(os.devnull)), _read(files, defaults)
    name = " with ".join(files)
    if bare != shown:
        raise CheckFailed(f"{name}: what .env.example shows is not what is in force without it")
    sys.stdout.write(f"compose: {name} can be read, and .env.example shows its defaults\n")


def _read(files: tuple[str, ...], variables: Path) -> str:
    chosen = [word for file in files for word in ("--file", file)]
    command = [program("docker-compose"), "--env-file", str(variables), *chosen, "--profile", "*", "config"]
    # Variables of the person who runs this are no part of the files.
    names = {"PATH", "HOME", "TMPDIR", "SYSTEMROOT", "TEMP", "TMP", "USERPROFILE"}
    return run(command, folder=ROOT, environment={name: os.environ[name] for name in names & os.environ.keys()})


if __name__ == "__main__":
    main()
