"""The image's entry as a process of this machine: started, asked over 127.0.0.1, stopped.

Above: `try_image.py`. Below: `build_by_hand.py`, which made the folder that it runs from.
"""

from __future__ import annotations

import contextlib
import http.client
import os
import signal
import socket
import subprocess
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from pathlib import Path

from deploy.container.build_by_hand import Image

_START_TRIES = 300
_TRY_EACH_S = 0.1
_COMMAND_S = 60


class TryFailed(Exception):
    """Something isn't as it has to be; the message says what, in one line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class User:
    """Who the service runs as: a user of its own where this process may choose one, else this process's."""

    number: int | None

    @classmethod
    def for_trying(cls) -> User:
        """Take the image's user as root, and else whoever runs this."""
        return cls(number=10001 if os.geteuid() == 0 else None)

    @property
    def groups(self) -> list[int] | None:
        """Give the further groups, none, where this process may choose."""
        return None if self.number is None else []

    def own(self, path: Path) -> None:
        """Give the user a path."""
        if self.number is not None:
            os.chown(path, self.number, self.number)


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """The entry, started and answering."""

    process: subprocess.Popen[bytes]
    log: Path
    port: int
    health: tuple[str, ...]
    environment: Mapping[str, str]

    def status(self, path: str, *, key: str | None = None, body: bytes | None = None, host: str | None = None) -> int:
        """Give the status of an answer; with a body it is a POST."""
        headers = {} if key is None else {"Authorization": f"Bearer {key}"}
        headers |= {} if host is None else {"Host": host}
        headers |= {} if body is None else {"Content-Type": "application/json"}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        with contextlib.closing(connection):
            connection.request("GET" if body is None else "POST", path, body, headers)
            return connection.getresponse().status

    def healthy(self) -> None:
        """Run the health check of the Dockerfile.

        Raises:
            TryFailed: it finds the service unhealthy.
        """
        if subprocess.run(self.health, env=dict(self.environment), check=False, timeout=_COMMAND_S).returncode != 0:
            raise TryFailed("HEALTHCHECK fails while the service answers")

    def stop(self, within_s: float) -> str:
        """Send SIGTERM and give the log.

        Raises:
            TryFailed: it doesn't end in time, or with another code than 0.
        """
        self.process.send_signal(signal.SIGTERM)
        try:
            code = self.process.wait(within_s)
        except subprocess.TimeoutExpired as error:
            self.process.kill()
            self.process.wait()
            raise TryFailed(f"it does not end within {within_s} s of SIGTERM") from error
        log = self.log.read_text(encoding="utf-8")
        if code != 0:
            raise TryFailed(f"it ends with {code} at SIGTERM; its log: {log}")
        return log


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """ENTRYPOINT and CMD of an image that was built by hand, for a user."""

    image: Image
    user: User

    @contextlib.contextmanager
    def started(self) -> Generator[Running]:
        """Start it and wait until it answers; what fails within ends it.

        Raises:
            TryFailed: it ends, or doesn't answer in time.
        """
        image, log, port = self.image, self.image.root / "tmp/log", _free_port()
        environment = self._environment() | {"TURNKEEPER_PORT": str(port)}
        words = [*image.last("ENTRYPOINT").words(), *image.last("CMD").words()]
        health = image.last("HEALTHCHECK").rest.partition("CMD")[2]
        with log.open("wb") as opened:
            process: subprocess.Popen[bytes] = subprocess.Popen(
                [image.below(word) for word in words],
                env=environment,
                cwd=image.root / "data",
                stdout=opened,
                stderr=subprocess.STDOUT,
                umask=0o022,
                user=self.user.number,
                group=self.user.number,
                extra_groups=self.user.groups,
            )
        running = Running(
            process=process,
            log=log,
            port=port,
            health=tuple(map(image.below, _exec_form(health))),
            environment=environment,
        )
        try:
            _wait_for(running)
            yield running
        except BaseException:
            process.kill()
            process.wait()
            raise

    def output(self, *arguments: str) -> str:
        """Run another command through the entry, to its end, and give what it prints."""
        image = self.image
        words = [*map(image.below, image.last("ENTRYPOINT").words()), *arguments]
        return subprocess.run(
            words,
            env=self._environment(),
            cwd=image.root / "data",
            check=True,
            timeout=_COMMAND_S,
            capture_output=True,
            text=True,
            user=self.user.number,
            group=self.user.number,
            extra_groups=self.user.groups,
        ).stdout

    def can_write(self, folder: Path) -> bool:
        """Say whether the user can make a file in a folder."""
        made = subprocess.run(
            ["/bin/sh", "-c", 'touch "$1/written" 2>/dev/null', "sh", str(folder)],
            check=False,
            timeout=_COMMAND_S,
            user=self.user.number,
            group=self.user.number,
            extra_groups=self.user.groups,
        )
        return made.returncode == 0

    def _environment(self) -> dict[str, str]:
        root = self.image.root
        # The rest is what compose.yaml sets, with a model server that isn't there.
        return {
            **self.image.environment(os.environ),
            "HOME": str(root / "data"),
            "TMPDIR": str(root / "tmp"),
            # Of a Python that was copied: it looks for its library where it was built, which others can't reach.
            "LD_LIBRARY_PATH": str(root / "usr/local/lib"),
            "METRICS_KEY_FILE": str(root / "monitoring/metrics-api-key"),
            "TURNKEEPER_ALLOWED_HOSTS": '["turnkeeper"]',
            "TURNKEEPER_LLAMA_URL": "http://127.0.0.1:9",
        }


def _exec_form(text: str) -> list[str]:
    return [word.strip().strip('"') for word in text.strip().strip("[]").split(",")]


def _free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def _wait_for(running: Running) -> None:
    for _ in range(_START_TRIES):
        with contextlib.suppress(OSError):
            if running.status("/livez") == http.client.OK:
                return
        with contextlib.suppress(subprocess.TimeoutExpired):
            code = running.process.wait(_TRY_EACH_S)
            raise TryFailed(f"it ends with {code} at its start: {running.log.read_text(encoding='utf-8')}")
    raise TryFailed("it does not answer in time")
