"""Tries what the image would do, without a container engine: `python -m deploy.container.try_image`.

Builds by the Dockerfile's own steps in an empty folder, starts the entry as a user that can write to /data only, and
asks, ends and starts it again. It needs no llama-server and ends by itself. Not tried is what an engine does: the base
image, the second stage's users, volumes. Above: `make check-deploy`. Below: `build_by_hand.py`, `running_entry.py`.
"""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

from deploy.container.build_by_hand import Image
from deploy.container.running_entry import Entry, TryFailed, User

ROOT = Path(__file__).resolve().parent.parent.parent
_STOP_S = 15  # drain_s and what responses get after it


def main() -> None:
    """Build, try, clear away; exit with 1 and one line where something isn't as it has to be."""
    folder = Path(tempfile.mkdtemp(prefix="turnkeeper-image-")).resolve()
    try:
        image = Image(project=ROOT, root=folder)
        image.build()
        _try(image, User.for_trying())
    except (TryFailed, subprocess.SubprocessError) as failure:
        sys.exit(f"the image: {failure}")
    finally:
        _make_writable(folder)
        shutil.rmtree(folder)


def _try(image: Image, user: User) -> None:
    _lay_out(image.root, user)
    entry = Entry(image=image, user=user)
    _check(not entry.can_write(image.root / "opt/turnkeeper"), "the user that it runs as can change the service")
    first = _try_first_start(entry)
    _say("first start: a key that only its owner reads, sessions, metrics, 401 for a wrong key, ends at SIGTERM")
    with entry.started() as running:
        _check(running.status("/sessions", key=first) == 200, "after a second start the first key is refused")
    log = running.stop(_STOP_S)
    _check("first-api-key" not in log, "the second start makes keys again")
    _check(_key(image.root / "data/first-api-key") == first, "the second start has changed the first key")
    _say("second start: no new key, the first one is good")
    (image.root / "monitoring/metrics-api-key").unlink()
    with entry.started() as running:
        metrics = _key(image.root / "monitoring/metrics-api-key")
        _check(running.status("/metrics", key=metrics) == 200, "a key of metrics that was lost isn't made anew")
    running.stop(_STOP_S)
    _say("third start: a lost key for metrics is replaced")
    _check(entry.output("keys", "list").count("\n") == 3, "`keys list` does not list two keys")
    _say("other commands: `keys list` lists both")


def _try_first_start(entry: Entry) -> str:
    root = entry.image.root
    with entry.started() as running:
        running.healthy()
        first = _key(root / "data/first-api-key")
        metrics = _key(root / "monitoring/metrics-api-key")
        for name, mode in (
            ("data/first-api-key", 0o600),
            ("data/keys.json", 0o600),
            ("monitoring/metrics-api-key", 0o640),
        ):
            found = stat.S_IMODE((root / name).stat().st_mode)
            _check(found == mode, f"{name} has the mode {found:o}, not {mode:o}")
        asked = {
            "the first key can't make a session": (running.status("/sessions", key=first, body=b"{}"), 201),
            "the first key can't list sessions": (running.status("/sessions", key=first), 200),
            "a wrong key is let in": (running.status("/sessions", key="tk_wrong"), 401),
            "a call without a key is let in": (running.status("/sessions"), 401),
            "the first key sees metrics": (running.status("/metrics", key=first), 403),
            "Prometheus can't scrape": (running.status("/metrics", key=metrics, host="turnkeeper:8000"), 200),
            "a foreign Host is answered": (running.status("/livez", host="evil.example"), 421),
        }
        for complaint, (status, wanted) in asked.items():
            _check(status == wanted, f"{complaint}: {status}, not {wanted}")
    log = running.stop(_STOP_S)
    _check("first-api-key" in log, "the log doesn't say where the first key is")
    _check(first not in log and metrics not in log, "a key is in the log")
    left = sorted(path.name for path in (root / "data").iterdir() if path.name.startswith(".first"))
    _check(not left, f"left behind in /data: {left}")
    return first


def _lay_out(root: Path, user: User) -> None:
    for name in ("data", "monitoring", "tmp"):
        (root / name).mkdir(mode=0o750)
        user.own(root / name)
    for path in (root, *root.glob("opt/**/*"), *root.glob("usr/**/*")):
        if not path.is_symlink():
            path.chmod(path.stat().st_mode & 0o555 | 0o444 | (0o111 if path.is_dir() else 0))


def _make_writable(root: Path) -> None:
    for folder, _, _ in os.walk(root):
        Path(folder).chmod(0o700)


def _key(file: Path) -> str:
    _check(file.exists(), f"{file.name} was not made")
    return file.read_text(encoding="ascii").strip()


def _check(holds: bool, complaint: str) -> None:
    if not holds:
        raise TryFailed(complaint)


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
