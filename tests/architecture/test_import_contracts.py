import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent


def test_imports_keep_to_the_contracts() -> None:
    command = shutil.which("lint-imports", path=str(Path(sys.executable).parent))
    assert command is not None, "import-linter isn't installed beside this Python"

    linted = subprocess.run([command, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False)

    assert linted.returncode == 0, linted.stdout + linted.stderr
