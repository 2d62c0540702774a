"""`turnkeeper sign`: sign a decision on a call that waits, or make the key for it (A5)."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from service.cli.failure import FAILED, WRONG_USE, fail
from service.core.visible import visible

if TYPE_CHECKING:
    from service.core.records import DecisionSignature

_STDIN = Path("-")
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


def sign(
    pending: Annotated[
        Path | None,
        typer.Argument(
            metavar="[PENDING]", help="A file with an item of GET /approvals, or its answer; - reads stdin."
        ),
    ] = None,
    key_file: Annotated[Path | None, typer.Option(metavar="FILE", help="Your private key, in PEM.")] = None,
    key: Annotated[str | None, typer.Option(metavar="NAME", help="Its name in approver_keys.")] = None,
    approve: Annotated[bool | None, typer.Option("--approve/--deny", help="What you decide.")] = None,
    arguments: Annotated[
        str | None, typer.Option(metavar="JSON", help="Approve it with these arguments in place of the model's.")
    ] = None,
    reason: Annotated[str | None, typer.Option(help="Why; the model is told when you deny. It is not signed.")] = None,
    call: Annotated[int | None, typer.Option(min=1, help="The number of the call, where more than one waits.")] = None,
    digest: Annotated[
        str | None, typer.Option(metavar="SHA256", help="Sign this digest of --call, without seeing the call.")
    ] = None,
    new_key: Annotated[
        str | None, typer.Option(metavar="NAME", help="Make a key, write it to --key-file, print its public half.")
    ] = None,
) -> None:
    """Sign a decision and print the body for POST /sessions/ID/turns/TURN/decisions.

    What is signed is shown on standard error, hidden characters as escapes. A call whose digest is not its own is not
    signed. --new-key NAME --key-file FILE makes a key. Exit codes: 0 signed, 1 not to be signed, 2 wrong use.
    """
    if key_file is None:
        fail("say --key-file FILE", exit_code=WRONG_USE)
    if new_key is not None:
        if any(given is not None for given in (pending, key, approve, arguments, reason, call, digest)):
            fail("--new-key goes with --key-file alone", exit_code=WRONG_USE)
        _make_key(new_key, key_file)
        return
    if key is None or approve is None:
        missing = "--key NAME" if key is None else "--approve or --deny"
        fail(f"say {missing}", exit_code=WRONG_USE)
    _check_texts(approve, arguments, reason)
    if digest is not None:
        number, digest = _blind(pending, call, digest)
    else:
        number, digest = _shown(pending, call)
    signature = _signature(key_file, key, digest, approve, arguments)
    _say(f"{'APPROVED' if approve else 'DENIED'} and signed as {visible(key, len(key))}")
    if arguments is not None:
        _say(f"with these arguments in place of the model's: {visible(arguments, len(arguments))}")
    decision = {"call": number, "approved": approve, "digest": digest, "arguments": arguments, "reason": reason}
    given = {name: value for name, value in decision.items() if value is not None}
    typer.echo(json.dumps({"decisions": [given | {"signature": asdict(signature)}]}))


def _make_key(name: str, path: Path) -> None:
    from service.cli.signing_keys import make_key
    from service.core.decision_signature import fault_of_key_name

    fault = fault_of_key_name(name)
    if fault is not None:
        fail(fault, exit_code=WRONG_USE)
    public_key = make_key(path)
    typer.echo(json.dumps({name: public_key}))
    _say(f"the private key is in {path}; who has it decides as you. The line above is for approver_keys")


def _check_texts(approve: bool, arguments: str | None, reason: str | None) -> None:
    for option, text in (("--arguments", arguments), ("--reason", reason)):
        if text is not None and not _is_unicode(text):
            fail(f"{option} is no UTF-8", exit_code=WRONG_USE)
    if arguments is None:
        return
    if not approve:
        fail("--arguments goes with --approve: what is denied doesn't run", exit_code=WRONG_USE)
    try:
        is_object = isinstance(json.loads(arguments), dict)
    except (ValueError, RecursionError):
        is_object = False
    if not is_object:
        fail('--arguments must be a JSON object, like {"city": "Paris"}', exit_code=WRONG_USE)


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _blind(pending: Path | None, call: int | None, digest: str) -> tuple[int, str]:
    if pending is not None or call is None:
        fail("--digest goes with --call, and without PENDING", exit_code=WRONG_USE)
    if not _DIGEST.fullmatch(digest):
        fail("--digest must be sha256: and 64 hex digits, as PENDING has it", exit_code=WRONG_USE)
    _say(f"a digest does not show what is signed; it is {digest} of call {call}")
    return call, digest


def _shown(pending: Path | None, call: int | None) -> tuple[int, str]:
    from service.cli.waiting_call import NotToBeSigned, read_waiting_call

    if pending is None:
        fail("name a file with the call that waits, or - for standard input", exit_code=WRONG_USE)
    try:
        waiting = read_waiting_call(_read(pending), call)
    except NotToBeSigned as refusal:
        fail(f"{pending}: {refusal}", exit_code=FAILED)
    _say("this is the call:")
    for line in waiting.lines():
        typer.echo(line, err=True)
    _say(f"post the decision to {waiting.decisions_path}")
    return waiting.call, waiting.digest


def _read(path: Path) -> str:
    try:
        content = sys.stdin.buffer.read() if path == _STDIN else path.read_bytes()
        return content.decode()
    except OSError as error:
        fail(f"{path} can't be read: {error.strerror}", exit_code=WRONG_USE)
    except ValueError:
        fail(f"{path} is no UTF-8", exit_code=WRONG_USE)


def _signature(key_file: Path, key: str, digest: str, approve: bool, arguments: str | None) -> DecisionSignature:
    from service.cli.signing_keys import read_key
    from service.core.decision_signature import fault_of_key_name, sign_decision

    fault = fault_of_key_name(key)
    if fault is not None:
        fail(fault, exit_code=WRONG_USE)
    return sign_decision(read_key(key_file), key, digest, approved=approve, arguments=arguments)


def _say(message: str) -> None:
    typer.echo(f"turnkeeper: {message}", err=True)
