"""A peer: its environment, how its server is started, and how it is asked.

Above: the catalogue, which lists the peers, and whoever measures them. Below: the adapters of the overhead benchmark.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

from benchmarks.overhead.adapters import Adapter

FOLDER = Path(__file__).parent
ENVIRONMENTS = FOLDER / ".environments"
# The servers read it: where they keep their database.
FOLDER_VARIABLE = "PEER_FOLDER"
# No peer may ask for a key, nor send one that belongs to somebody.
DUMMY_KEY = "none"


class PeerNotInstalled(Exception):
    """A peer has no environment, or its installation was not finished; says how to make it."""

    def __init__(self, name: str) -> None:
        super().__init__(f"{name} is not installed; install it: python -m benchmarks.peers install {name}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """One server to compare with; `settings` are the variables of its process beside the common ones."""

    name: str
    server: str
    adapter: Adapter
    settings: tuple[tuple[str, str], ...] = ()
    environments: Path = ENVIRONMENTS

    @property
    def requirements(self) -> Path:
        """The file of the pinned packages that it needs."""
        return FOLDER / "requirements" / f"{self.name}.txt"

    @property
    def program(self) -> Path:
        """The file of its server."""
        return FOLDER / "servers" / f"{self.server}.py"

    @property
    def environment_folder(self) -> Path:
        """The folder of its own Python environment."""
        return self.environments / self.name

    @property
    def python(self) -> Path:
        """The Python of its own environment."""
        return self.environment_folder / "bin" / "python"

    @property
    def installed_marker(self) -> Path:
        """The file that says that an installation was finished, and of what: a copy of the requirements."""
        return self.environment_folder / "installed.txt"

    @property
    def is_installed(self) -> bool:
        """Whether its environment holds what the requirements name now."""
        return self.installed_marker.is_file() and self.installed_marker.read_bytes() == self.requirements.read_bytes()

    def command(self, port: int, upstream: str) -> list[str]:
        """Give the command that serves on a port of this machine before `upstream`, a llama-server's root address.

        Raises:
            PeerNotInstalled: its environment isn't there.
        """
        if not self.is_installed:
            raise PeerNotInstalled(self.name)
        return [str(self.python), str(self.program), str(port), upstream]

    def environment(self, port: int, upstream: str) -> dict[str, str]:
        """Give the variables to add to the server's process: no telemetry, no real key, a folder for its database."""
        return {
            "OPENAI_API_KEY": DUMMY_KEY,
            "OTEL_SDK_DISABLED": "true",
            FOLDER_VARIABLE: str(Path(tempfile.gettempdir()) / f"turnkeeper-peer-{self.name}-{port}"),
            **dict(self.settings),
        }
