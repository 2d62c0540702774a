"""A5, D2: `turnkeeper sign` makes keys and signs decisions, and never something other than it shows."""

from __future__ import annotations

import json
import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
)
from typer.testing import CliRunner, Result

from service.cli.app import app
from service.codec import to_json
from service.core.decision_signature import ApproverKeys, read_approver_keys
from service.core.records import DecisionSignature, PendingCall
from tests.core.approved_logs import ARGUMENTS, pending

pytestmark = pytest.mark.rules("A5", "D2")

ONE = pending(1)
SIGN = ["--key", "alice", "--approve"]


@dataclass(frozen=True)
class Signer:
    """A person with a key, in a folder of files."""

    folder: Path
    key_file: Path
    keys: ApproverKeys

    def sign(self, *arguments: str, stdin: bytes = b"") -> Result:
        return turnkeeper("sign", *arguments, "--key-file", str(self.key_file), stdin=stdin)

    def file(self, content: object, name: str = "pending.json") -> str:
        path = self.folder / name
        path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
        return str(path)

    def fault_of(self, decision: dict[str, Any]) -> str | None:
        """Say what the service would find wrong with a decision."""
        return self.keys.fault_of(
            decision["digest"],
            approved=decision["approved"],
            arguments=decision.get("arguments"),
            signature=DecisionSignature(**decision["signature"]),
        )


def turnkeeper(*arguments: str, stdin: bytes = b"") -> Result:
    return CliRunner().invoke(app, list(arguments), input=stdin, catch_exceptions=False)


@pytest.fixture
def alice(tmp_path: Path) -> Signer:
    made = turnkeeper("sign", "--new-key", "alice", "--key-file", str(tmp_path / "alice.pem"))
    return Signer(tmp_path, tmp_path / "alice.pem", read_approver_keys(json.loads(made.stdout)))


def item(call: PendingCall = ONE) -> dict[str, Any]:
    return to_json(call)


def decision_of(result: Result) -> dict[str, Any]:
    """Give the only decision of the body that was printed."""
    assert result.exit_code == 0, result.stderr
    body = json.loads(result.stdout)
    assert list(body) == ["decisions"]
    (decision,) = body["decisions"]
    return decision


def refused(result: Result) -> tuple[int, str]:
    """Give the exit code and the last line that was said; nothing was printed."""
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    return result.exit_code, result.stderr.splitlines()[-1].removeprefix("turnkeeper: ")


def test_a_new_key_is_written_for_its_owner_only_and_its_public_half_is_printed(tmp_path: Path) -> None:
    path = tmp_path / "alice.pem"

    result = turnkeeper("sign", "--new-key", "alice", "--key-file", str(path))

    assert result.exit_code == 0
    assert list(read_approver_keys(json.loads(result.stdout)).keys) == ["alice"]
    assert path.read_text().startswith("-----BEGIN PRIVATE KEY-----\n")
    assert result.stderr == (
        f"turnkeeper: the private key is in {path}; who has it decides as you. The line above is for approver_keys\n"
    )
    if os.name == "posix":
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_no_two_keys_are_the_same(tmp_path: Path) -> None:
    made = [turnkeeper("sign", "--new-key", "a", "--key-file", str(tmp_path / name)).stdout for name in "12"]

    assert made[0] != made[1]


def test_a_key_is_never_written_over(alice: Signer) -> None:
    before = alice.key_file.read_bytes()

    result = alice.sign("--new-key", "alice")

    assert refused(result) == (
        1,
        f"{alice.key_file} is there already, and a private key can't be had back; choose another --key-file",
    )
    assert alice.key_file.read_bytes() == before


def test_a_key_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    path = tmp_path / "nowhere" / "alice.pem"

    assert refused(turnkeeper("sign", "--new-key", "alice", "--key-file", str(path))) == (
        1,
        f"{path} can't be written: No such file or directory",
    )


@pytest.mark.parametrize("approve", [True, False])
def test_a_decision_is_printed_as_the_body_to_post_with_a_signature_that_holds(alice: Signer, approve: bool) -> None:
    decision = decision_of(
        alice.sign(alice.file(item()), "--key", "alice", "--approve" if approve else "--deny", "--reason", "so\u202e")
    )

    assert alice.fault_of(decision) is None
    assert decision == {
        "call": 1,
        "approved": approve,
        "digest": ONE.digest,
        "reason": "so\u202e",
        "signature": {"key": "alice", "value": decision["signature"]["value"]},
    }


def test_other_arguments_are_signed_as_they_were_typed(alice: Signer) -> None:
    typed = '{"to": "Zoë"}'

    result = alice.sign(alice.file(item()), *SIGN, "--arguments", typed)

    decision = decision_of(result)
    assert decision["arguments"] == typed
    assert "reason" not in decision
    assert alice.fault_of(decision) is None
    assert alice.fault_of(decision | {"arguments": '{"to":"Zoë"}'}) is not None
    assert result.stderr.endswith(f"turnkeeper: with these arguments in place of the model's: {typed}\n")


def test_what_is_signed_is_shown_whole_with_nothing_hidden_in_it(alice: Signer) -> None:
    tricky = pending(7, arguments='{"to": "a\u202eb", "text": "' + "x" * 5000 + '\x1b[2J"}')

    result = alice.sign(alice.file(item(tricky)), *SIGN)

    assert result.stderr.splitlines() == [
        "turnkeeper: this is the call:",
        "  tool: send_mail",
        '  arguments: {"to": "a\\u202eb", "text": "' + "x" * 5000 + '\\u001b[2J"}',
        "  call: 7 (c7)",
        "  session: ses_one",
        "  turn: trn_1",
        f"  digest: {tricky.digest}",
        "  asked because (not signed): This tool always asks for an approval.",
        "turnkeeper: post the decision to /sessions/ses_one/turns/trn_1/decisions",
        "turnkeeper: APPROVED and signed as alice",
    ]


@pytest.mark.parametrize("listed", ["items", "pending", "one"])
def test_the_call_is_found_in_what_the_service_answers(alice: Signer, listed: str) -> None:
    calls = [item(pending(1)), item(pending(2))]
    said = {"items": {"items": calls, "count": 2}, "pending": {"id": "trn_1", "pending": calls}, "one": calls[1]}

    decision = decision_of(alice.sign("-", *SIGN, "--call", "2", stdin=json.dumps(said[listed]).encode()))

    assert decision["digest"] == pending(2).digest


def test_a_call_that_is_the_only_one_needs_no_number(alice: Signer) -> None:
    decision = decision_of(alice.sign("-", *SIGN, stdin=json.dumps({"items": [item()], "count": 1}).encode()))

    assert decision["call"] == 1


@pytest.mark.parametrize(
    "change",
    [
        {"arguments": '{"to": "all"}'},
        {"name": "send_money"},
        {"session": "ses_two"},
        {"turn": "trn_2"},
        {"call": 2},
        {"tool_call_id": "c2"},
        {"digest": pending(2).digest},
        {"arguments": "\ud800"},
    ],
)
def test_a_call_whose_digest_is_not_its_own_is_not_signed(alice: Signer, change: dict[str, object]) -> None:
    path = alice.file(item() | change)

    assert refused(alice.sign(path, *SIGN)) == (
        1,
        f"{path}: the digest is not that of the call that is shown, so nothing was signed",
    )


def test_what_the_digest_leaves_out_may_change(alice: Signer) -> None:
    changed = item() | {"title": "other", "reason": None, "expires_at": "2031-01-01T00:00:00Z"}

    result = alice.sign(alice.file(changed), *SIGN)

    assert decision_of(result)["digest"] == ONE.digest
    assert "  asked because (not signed): nothing was said" in result.stderr.splitlines()


@pytest.mark.parametrize(
    ("content", "arguments", "said"),
    [
        (b"", (), "it is no JSON"),
        (b"[" * 100_000, (), "it is no JSON"),
        (b"[]", (), "it is no JSON object"),
        (b'{"items": [], "count": 0}', (), "no call waits there"),
        (json.dumps(item()).encode(), ("--call", "2"), "no such call waits there"),
        (b"{}", (), "it is no call that waits: session, turn, tool_call_id, name, arguments, digest"),
        (json.dumps(item() | {"call": True}).encode(), (), "it is no call that waits: call is missing"),
        (json.dumps(item() | {"name": None}).encode(), (), "it is no call that waits: name is missing"),
        (
            json.dumps({"items": [item(), item(pending(2))]}).encode(),
            (),
            "more than one call waits there (1, 2); choose",
        ),
    ],
)
def test_a_file_without_exactly_one_call_is_told_in_one_line(
    alice: Signer, content: bytes, arguments: tuple[str, ...], said: str
) -> None:
    path = alice.file(content)

    exit_code, line = refused(alice.sign(path, *SIGN, *arguments))

    assert exit_code == 1
    assert line.startswith(f"{path}: {said}")


def test_a_digest_alone_can_be_signed_with_a_warning(alice: Signer) -> None:
    result = alice.sign("--digest", ONE.digest, "--call", "1", *SIGN)

    decision = decision_of(result)
    assert (decision["call"], decision["digest"]) == (1, ONE.digest)
    assert alice.fault_of(decision) is None
    assert result.stderr.startswith(
        f"turnkeeper: a digest does not show what is signed; it is {ONE.digest} of call 1\n"
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--approve", "PENDING"], "say --key NAME"),
        (["--key", "alice", "PENDING"], "say --approve or --deny"),
        (SIGN, "name a file with the call that waits, or - for standard input"),
        ([*SIGN, "nowhere.json"], "nowhere.json can't be read: No such file or directory"),
        ([*SIGN, "LATIN"], "LATIN is no UTF-8"),
        (["--key", "al\u202eice", "--approve", "PENDING"], '"al\\u202eice" is no name for a key: it must be 1 to 64'),
        ([*SIGN, "PENDING", "--digest", ONE.digest, "--call", "1"], "--digest goes with --call, and without PENDING"),
        ([*SIGN, "--digest", ONE.digest], "--digest goes with --call, and without PENDING"),
        ([*SIGN, "--digest", ONE.digest.upper(), "--call", "1"], "--digest must be sha256: and 64 hex digits"),
        ([*SIGN, "PENDING", "--arguments", "[]"], "--arguments must be a JSON object"),
        ([*SIGN, "PENDING", "--arguments", ""], "--arguments must be a JSON object"),
        ([*SIGN, "PENDING", "--arguments", "\udcff"], "--arguments is no UTF-8"),
        ([*SIGN, "PENDING", "--reason", "\udcff"], "--reason is no UTF-8"),
        (["--key", "alice", "--deny", "PENDING", "--arguments", ARGUMENTS], "--arguments goes with --approve"),
        (["--new-key", "bob", "--approve"], "--new-key goes with --key-file alone"),
        (["--new-key", "b\nb"], '"b\\nb" is no name for a key'),
    ],
)
def test_wrong_use_is_told_in_one_line_and_nothing_is_signed(
    alice: Signer, monkeypatch: pytest.MonkeyPatch, arguments: list[str], said: str
) -> None:
    monkeypatch.chdir(alice.folder)
    alice.file(item(), "PENDING")
    alice.file(b"\xff", "LATIN")

    exit_code, line = refused(alice.sign(*arguments))

    assert exit_code == 2
    assert line.startswith(said)


def test_a_key_file_must_be_named() -> None:
    assert refused(turnkeeper("sign", "-", *SIGN)) == (2, "say --key-file FILE")


LOCKED = Ed25519PrivateKey.generate().private_bytes(
    Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"passphrase")
)
OF_ANOTHER_KIND = generate_private_key(SECP256R1()).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "holds no Ed25519 private key in PEM; make one with --new-key"),
        (b"no key", "holds no Ed25519 private key in PEM; make one with --new-key"),
        (b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n", "holds no Ed25519 private key in PEM"),
        (OF_ANOTHER_KIND, "holds no Ed25519 private key in PEM; make one with --new-key"),
        (LOCKED, "is locked with a passphrase; this command takes it without"),
    ],
)
def test_a_file_that_holds_no_key_that_can_be_used_is_told(alice: Signer, content: bytes, said: str) -> None:
    alice.key_file.write_bytes(content)

    exit_code, line = refused(alice.sign(alice.file(item()), *SIGN))

    assert exit_code == 2
    assert str(alice.key_file) in line
    assert said in line


def test_a_key_file_that_is_not_there_is_told(alice: Signer) -> None:
    alice.key_file.unlink()

    assert refused(alice.sign(alice.file(item()), *SIGN)) == (
        2,
        f"{alice.key_file} can't be read: No such file or directory",
    )


def test_a_key_that_another_program_made_can_be_used(alice: Signer) -> None:
    key = Ed25519PrivateKey.generate()
    alice.key_file.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))

    decision = decision_of(alice.sign(alice.file(item()), *SIGN))

    keys = ApproverKeys({"alice": key.public_key().public_bytes_raw()})
    signature = DecisionSignature(**decision["signature"])
    assert keys.fault_of(ONE.digest, approved=True, arguments=None, signature=signature) is None


@pytest.mark.rules("K5")
def test_the_private_key_is_in_no_output(alice: Signer) -> None:
    secret = alice.key_file.read_text().splitlines()[1]

    result = alice.sign(alice.file(item()), *SIGN)

    assert secret not in result.stdout + result.stderr
