from __future__ import annotations

import ast
import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.overhead.adapters import Address, measured_request
from benchmarks.peers import Peer, PeerNotInstalled, known_peers
from benchmarks.peers.__main__ import main
from benchmarks.peers.catalogue import AGNO, LITELLM, OPENAI_AGENTS
from benchmarks.peers.installation import install
from benchmarks.peers.servers.settings_of_peer import Settings, given_settings, new_database

PIN = re.compile(r"[a-z0-9-]+(\[[a-z0-9,-]+\])?==\d+(\.\d+)+")
UPSTREAM = "http://127.0.0.1:8099"
each_peer = pytest.mark.parametrize("known", known_peers(), ids=lambda peer: peer.name)


def elsewhere(peer: Peer, folder: Path) -> Peer:
    return replace(peer, environments=folder)


def seem_installed(peer: Peer) -> None:
    peer.environment_folder.mkdir(parents=True)
    peer.installed_marker.write_bytes(peer.requirements.read_bytes())


def test_the_peers_are_those_of_the_table() -> None:
    assert [peer.name for peer in known_peers()] == ["openai-agents", "agno", "litellm", "pydantic-ai"]


@each_peer
def test_each_direct_requirement_is_pinned_and_names_no_address(known: Peer) -> None:
    lines = known.requirements.read_text(encoding="utf-8").splitlines()

    assert lines
    assert [line for line in lines if not PIN.fullmatch(line)] == []


@each_peer
def test_a_server_imports_nothing_of_this_project(known: Peer) -> None:
    tree = ast.parse(known.program.read_text(encoding="utf-8"))
    imported = {node.module.split(".")[0] for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) if node.module}

    assert imported
    assert imported & {"benchmarks", "service", "tests"} == set()


@each_peer
def test_the_command_runs_the_server_with_the_python_of_its_own_environment(known: Peer, tmp_path: Path) -> None:
    peer = elsewhere(known, tmp_path)
    seem_installed(peer)

    assert peer.command(8101, UPSTREAM) == [
        str(tmp_path / peer.name / "bin" / "python"),
        str(peer.program),
        "8101",
        UPSTREAM,
    ]


@each_peer
def test_an_absent_environment_is_told_with_the_command_that_makes_it(known: Peer, tmp_path: Path) -> None:
    with pytest.raises(PeerNotInstalled, match=f"python -m benchmarks.peers install {known.name}$"):
        elsewhere(known, tmp_path).command(8101, UPSTREAM)


def test_an_environment_of_other_pins_is_not_the_one_that_is_asked_for(tmp_path: Path) -> None:
    peer = elsewhere(AGNO, tmp_path)
    seem_installed(peer)
    before = peer.is_installed
    peer.installed_marker.write_text("agno==1.0\n", encoding="utf-8")

    assert (before, peer.is_installed) == (True, False)


def test_what_is_installed_is_left_as_it_is(tmp_path: Path) -> None:
    peer = elsewhere(LITELLM, tmp_path)
    seem_installed(peer)
    kept = peer.environment_folder / "kept"
    kept.touch()

    install(peer)

    assert kept.exists()


@each_peer
def test_a_process_gets_no_real_key_and_a_database_folder_of_its_own(
    known: Peer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "of somebody")
    variables = known.environment(8101, UPSTREAM)

    assert variables["OPENAI_API_KEY"] == "none"
    assert variables["PEER_FOLDER"] != known.environment(8102, UPSTREAM)["PEER_FOLDER"]


@each_peer
def test_a_request_carries_the_prompt_and_leaves_no_place_open(known: Peer) -> None:
    request = measured_request(known.adapter, Address(host="127.0.0.1", port=8101), prompt="say-this").decode()

    assert "say-this" in request
    assert re.findall(r"\{(prompt|uuid|id)\}|%7B(prompt|uuid|id)%7D", request) == []


@each_peer
def test_no_two_requests_continue_one_conversation(known: Peer) -> None:
    address = Address(host="127.0.0.1", port=8101)
    first, second = (measured_request(known.adapter, address, prompt="hello") for _ in range(2))

    # litellm keeps no conversation.
    assert (first != second) == (known.name != "litellm")


def test_a_server_is_told_where_to_serve_and_whom_to_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["server.py", "8101", f"{UPSTREAM}/"])

    settings = given_settings()

    assert settings == Settings(port=8101, upstream=f"{UPSTREAM}/")
    assert settings.api == f"{UPSTREAM}/v1"


def test_each_run_begins_without_the_database_of_the_run_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PEER_FOLDER", str(tmp_path / "peer"))
    database = Path(new_database())
    other = database.with_name("other")
    for left in (database, database.with_name(f"{database.name}-wal"), other):
        left.touch()

    assert Path(new_database()) == database
    assert list(database.parent.iterdir()) == [other]


def test_the_command_line_tells_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="error: agno is not installed; install it"):
        main(["run", "agno"], [elsewhere(AGNO, tmp_path)])


def test_the_command_line_lists_which_peers_are_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    peers = [elsewhere(peer, tmp_path) for peer in (OPENAI_AGENTS, AGNO)]
    seem_installed(peers[0])

    main(["list"], peers)

    assert capsys.readouterr().out == "openai-agents: installed\nagno: not installed\n"
