"""A5: what an approver signs, byte by byte, and what is said of a signature that doesn't hold."""

from __future__ import annotations

from base64 import urlsafe_b64encode

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from hypothesis import given
from hypothesis import strategies as st

from service.core.decision_signature import (
    ApproverKeys,
    fault_of_key_name,
    read_approver_keys,
    sign_decision,
    signed_text,
)
from service.core.ed25519_keys import base64url, from_base64url, read_public_key
from service.core.records import DecisionSignature

pytestmark = pytest.mark.rules("A5")

# The first test vector of RFC 8032, section 7.1.
ALICE = Ed25519PrivateKey.from_private_bytes(
    bytes.fromhex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60")
)
ALICE_PUBLIC = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"
BOB = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
KEYS = ApproverKeys({"alice": ALICE.public_key().public_bytes_raw(), "bob": BOB.public_key().public_bytes_raw()})
DIGEST = "sha256:" + "0f" * 32
ARGUMENTS = '{"to": "Zoë\u2028", "n": "\\n"}'
SIGNATURE = sign_decision(ALICE, "alice", DIGEST, approved=True, arguments=None)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]))


def fault(
    signature: DecisionSignature | None, digest: str = DIGEST, *, approved: bool = True, arguments: str | None = None
) -> str | None:
    return KEYS.fault_of(digest, approved=approved, arguments=arguments, signature=signature)


def test_what_is_signed_is_an_array_of_json_without_white_space_in_utf_8() -> None:
    assert signed_text("sha256:0f", True, None, "alice") == (
        b'["turnkeeper.decision.v1","sha256:0f",true,null,"alice"]'
    )
    assert signed_text("sha256:0f", False, ARGUMENTS, "zoë") == (
        b'["turnkeeper.decision.v1","sha256:0f",false,'
        b'"{\\"to\\": \\"Zo\xc3\xab\xe2\x80\xa8\\", \\"n\\": \\"\\\\n\\"}","zo\xc3\xab"]'
    )


def test_a_signature_is_ed25519_over_that_text_in_base64url_without_padding() -> None:
    expected = urlsafe_b64encode(ALICE.sign(signed_text(DIGEST, True, ARGUMENTS, "alice"))).rstrip(b"=").decode()

    assert sign_decision(ALICE, "alice", DIGEST, approved=True, arguments=ARGUMENTS) == DecisionSignature(
        key="alice", value=expected
    )


@given(digest=TEXTS, approved=st.booleans(), arguments=st.none() | TEXTS)
def test_a_decision_that_its_approver_signed_holds(digest: str, approved: bool, arguments: str | None) -> None:
    signature = sign_decision(BOB, "bob", digest, approved=approved, arguments=arguments)

    assert fault(signature, digest, approved=approved, arguments=arguments) is None


def test_a_signature_may_be_padded_as_many_languages_do() -> None:
    assert fault(DecisionSignature(key="alice", value=SIGNATURE.value + "==")) is None


@pytest.mark.parametrize("signature", [None, SIGNATURE, DecisionSignature(key="nobody", value="?")])
def test_without_keys_no_decision_needs_a_signature_and_none_is_looked_at(signature: DecisionSignature | None) -> None:
    assert ApproverKeys().fault_of(DIGEST, approved=True, arguments=None, signature=signature) is None


def test_a_decision_without_a_signature_is_refused_as_soon_as_there_are_keys() -> None:
    assert fault(None) == "it is not signed, and approver_keys is set, so that each decision needs a signature."


def test_a_signature_of_an_unknown_key_is_refused_with_its_name() -> None:
    assert fault(DecisionSignature(key="mal\u202elory", value=SIGNATURE.value)) == (
        'it is signed with the key "mal\\u202elory", which approver_keys lacks.'
    )


@pytest.mark.parametrize(
    "value",
    [
        "",
        SIGNATURE.value[:-1],
        SIGNATURE.value + "A",
        SIGNATURE.value + "=",
        SIGNATURE.value + "====",
        SIGNATURE.value + "\n",
        "+/" + SIGNATURE.value[2:],
        "ü" * 86,
        "0" * 128,
        base64url(bytes(63)),
        # The same 64 bytes, spelled with a bit that doesn't count.
        SIGNATURE.value[:-1] + chr(ord(SIGNATURE.value[-1]) + 1),
    ],
)
def test_a_value_that_is_no_signature_in_base64url_is_refused(value: str) -> None:
    assert fault(DecisionSignature(key="alice", value=value)) == (
        "its signature is not 64 bytes in base64url (86 characters and, if you like, ==)."
    )


@pytest.mark.parametrize(
    ("signature", "digest", "approved", "arguments"),
    [
        (SIGNATURE, DIGEST.replace("f", "e"), True, None),
        (SIGNATURE, DIGEST, False, None),
        (SIGNATURE, DIGEST, True, "{}"),
        (SIGNATURE, DIGEST, True, "null"),
        (SIGNATURE, DIGEST, True, "\ud800"),
        (DecisionSignature(key="bob", value=SIGNATURE.value), DIGEST, True, None),
        (sign_decision(BOB, "alice", DIGEST, approved=True, arguments=None), DIGEST, True, None),
        (sign_decision(ALICE, "bob", DIGEST, approved=True, arguments=None), DIGEST, True, None),
        (DecisionSignature(key="alice", value=base64url(ALICE.sign(DIGEST.encode()))), DIGEST, True, None),
        (DecisionSignature(key="alice", value=base64url(bytes(64))), DIGEST, True, None),
    ],
)
def test_a_signature_of_another_decision_or_by_another_key_is_refused(
    signature: DecisionSignature, digest: str, approved: bool, arguments: str | None
) -> None:
    assert fault(signature, digest, approved=approved, arguments=arguments) == (
        f'its signature is not one of the key "{signature.key}" for this decision: another key signed, or the '
        "digest, the answer, the arguments or the key's name are not those that were signed."
    )


@given(at=st.integers(0, 63), bit=st.integers(0, 7))
def test_a_signature_with_any_bit_changed_is_refused(at: int, bit: int) -> None:
    raw = bytearray(from_base64url(SIGNATURE.value, 64) or b"")
    raw[at] ^= 1 << bit

    assert fault(DecisionSignature(key="alice", value=base64url(bytes(raw)))) is not None


def test_half_of_a_surrogate_pair_cannot_be_signed() -> None:
    with pytest.raises(ValueError, match="surrogates"):
        sign_decision(ALICE, "alice", DIGEST, approved=True, arguments="\ud800")


def test_keys_are_read_by_the_names_of_their_owners() -> None:
    bob = base64url(BOB.public_key().public_bytes_raw())

    assert read_approver_keys({"alice": ALICE_PUBLIC, "bob": bob}) == KEYS
    assert read_approver_keys({}) == ApproverKeys()


@given(seed=st.binary(min_size=32, max_size=32))
def test_every_key_that_is_made_can_be_read(seed: bytes) -> None:
    public = Ed25519PrivateKey.from_private_bytes(seed).public_key().public_bytes_raw()

    assert read_public_key(base64url(public)) == public


@pytest.mark.parametrize(
    "text",
    [
        "",
        ALICE_PUBLIC[:-1],
        ALICE_PUBLIC + "=",
        ALICE_PUBLIC + "\n",
        ALICE_PUBLIC.replace("_", "/"),
        ALICE_PUBLIC[:-1] + "p",
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
    ],
)
def test_a_text_that_is_no_public_key_is_refused_with_the_name_and_the_form(text: str) -> None:
    with pytest.raises(
        ValueError, match='the key of "alice" must be an Ed25519 public key: 43 characters of base64url'
    ):
        read_approver_keys({"alice": text})


P = 2**255 - 19
D = -121665 * pow(121666, -1, P) % P
OF_ORDER_8 = int.from_bytes(bytes.fromhex("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05"), "little")


def test_a_point_of_order_8_doubles_to_one_of_order_4() -> None:
    assert (D * OF_ORDER_8**4 + 2 * OF_ORDER_8**2 - 1) % P == 0


@pytest.mark.parametrize("sign_of_x", [0, 1])
@pytest.mark.parametrize("y", [0, 1, 2, P - 1, P, P + 1, 2**255 - 1, OF_ORDER_8, P - OF_ORDER_8])
def test_a_key_that_is_no_point_or_one_that_anybody_can_sign_for_is_refused(y: int, sign_of_x: int) -> None:
    key = y | sign_of_x << 255

    with pytest.raises(ValueError, match="is no Ed25519 public key, though it has the length of one"):
        read_public_key(base64url(key.to_bytes(32, "little")))


def test_for_a_key_of_zeros_the_library_takes_signatures_that_nobody_made() -> None:
    """The reason for refusing such keys: with OpenSSL alone, one in four forgeries is good."""
    zeros, forged = Ed25519PublicKey.from_public_bytes(bytes(32)), bytes([1]) + bytes(63)

    assert any(_is_taken(zeros, forged, f"decision {number}".encode()) for number in range(64))


def _is_taken(key: Ed25519PublicKey, signature: bytes, text: bytes) -> bool:
    try:
        key.verify(signature, text)
    except InvalidSignature:
        return False
    return True


@pytest.mark.parametrize("name", ["", "a" * 65, "al\u202eice", "a\nb", "\ud800"])
def test_a_name_that_is_empty_long_or_has_hidden_characters_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="is no name for a key: it must be 1 to 64 characters, all of them visible"):
        read_approver_keys({name: ALICE_PUBLIC})


@pytest.mark.parametrize("name", ["a", "a" * 64, "Zoë Müller", "x@example.org"])
def test_other_names_are_taken(name: str) -> None:
    assert fault_of_key_name(name) is None


def test_the_signed_text_is_what_other_languages_write() -> None:
    """JSON.stringify of a browser leaves the same characters as they are, and escapes the same ones."""
    text = "".join(map(chr, range(0x20))) + '"\\/\x7f\x80\u2028\u2029\U0001f9f6'

    assert signed_text("d", True, text, "k").decode() == (
        '["turnkeeper.decision.v1","d",true,"'
        "\\u0000\\u0001\\u0002\\u0003\\u0004\\u0005\\u0006\\u0007\\b\\t\\n\\u000b\\f\\r\\u000e\\u000f\\u0010\\u0011\\u0012\\u0013"
        "\\u0014\\u0015\\u0016\\u0017\\u0018\\u0019\\u001a\\u001b\\u001c\\u001d\\u001e\\u001f"
        '\\"\\\\/\x7f\x80\u2028\u2029\U0001f9f6","k"]'
    )
