"""Holds the Kubernetes manifests against the schemas of Kubernetes: `python -m deploy.check_kubernetes`.

Unknown fields are faults. Checked are the files as they lie here and, where there is a kubectl, what it builds of them:
without and with the components. No cluster is asked. Above: `make check-deploy`. Below: deploy/kubernetes.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from deploy.checkers import CheckFailed, program, run

MANIFESTS = Path(__file__).resolve().parent / "kubernetes"
COMPONENTS = ("gpu", "ingress")
NO_OBJECTS = ("kustomization", "patch-")
# The first has all that is used here as stable.
VERSIONS = tuple(f"1.{minor}" for minor in range(31, 38))


def main() -> None:
    """Check; leave with 1 and what was found where something isn't as it has to be."""
    try:
        _check_schemas([path for path in sorted(MANIFESTS.rglob("*.yaml")) if not path.name.startswith(NO_OBJECTS)])
        _say(f"the files hold against Kubernetes {VERSIONS[0]} to {VERSIONS[-1]}")
        kubectl = shutil.which("kubectl")
        if kubectl is None:
            _say("there is no kubectl here, so nothing was built of them")
            return
        with tempfile.TemporaryDirectory() as folder:
            _check_builds(kubectl, Path(folder).resolve())
        _say("so does what kubectl builds of them, without and with the components")
    except (CheckFailed, subprocess.SubprocessError) as failure:
        sys.exit(f"kubernetes: {failure}")


def _check_builds(kubectl: str, folder: Path) -> None:
    here = os.path.relpath(MANIFESTS, folder)
    components = "".join(f"  - {here}/{name}\n" for name in COMPONENTS)
    (folder / "kustomization.yaml").write_text(f"resources:\n  - {here}\ncomponents:\n{components}", encoding="utf-8")
    for name, source in (("plain.yaml", MANIFESTS), ("with-components.yaml", folder)):
        built = folder / name
        built.write_text(run([kubectl, "kustomize", str(source)], folder=folder), encoding="utf-8")
        _check_schemas([built])


def _check_schemas(files: list[Path]) -> None:
    versions = [word for version in VERSIONS for word in ("--kubernetes-version", version)]
    names = [str(file) for file in files]
    said = run([program("kubernetes-validate"), "--strict", "--quiet", *versions, *names], folder=MANIFESTS)
    # A kind without a schema is a warning, and the code is 0.
    if said:
        raise CheckFailed(said.rstrip())


def _say(line: str) -> None:
    sys.stdout.write(f"kubernetes: {line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
