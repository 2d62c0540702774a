"""Fails a run of the tests that left a secret behind: in a file, or in what was printed or logged (K5).

Files are those below the run's temporary folder: databases and their WAL files, exports, logs of programs. With xdist
each worker looks through its own folder, and the main process through the output of all. Above: pytest. Below:
`search`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.secrets.exempt import exempted
from tests.secrets.search import canaries_in, search_folder

_FINDS = "secrets_found"
_FOLDER = pytest.StashKey[Path]()


class SecretSearch:
    """What was found so far, in words; never with the secret itself."""

    def __init__(self, config: pytest.Config) -> None:
        # A worker's configuration has a place for what it tells the main process; nothing else has.
        self._to_main: dict[str, Any] | None = getattr(config, "workeroutput", None)
        self._stash = config.stash
        self.finds: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Look through what a test printed and logged."""
        if self._to_main is not None:
            return
        for title, text in report.sections:
            names = canaries_in(text.encode(errors="surrogatepass"))
            if names:
                self.finds.append(_told(f"{report.nodeid} ({title})", names))

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Look through the files, and have the run fail if anything was found."""
        folder = self._stash.get(_FOLDER, None)
        if folder is not None:
            for find in search_folder(folder, without=exempted()):
                self.finds.append(_told(str(find.path.relative_to(folder)), find.names))
        if self._to_main is not None:
            self._to_main[_FINDS] = self.finds
        elif self.finds:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Take over what a worker has found."""
        self.finds += getattr(node, "workeroutput", {}).get(_FINDS, [])

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Tell all finds."""
        if self.finds:
            terminalreporter.section("secrets were left behind", red=True)
            for find in self.finds:
                terminalreporter.line(find, red=True)


def pytest_configure(config: pytest.Config) -> None:
    """Begin."""
    config.pluginmanager.register(SecretSearch(config), "turnkeeper-secrets")


@pytest.fixture(scope="session", autouse=True)
def folder_of_this_run(pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Note where tests put their files."""
    pytestconfig.stash[_FOLDER] = tmp_path_factory.getbasetemp()


def _told(where: str, names: set[str] | frozenset[str]) -> str:
    return f"{where}: {', '.join(sorted(names))}"
