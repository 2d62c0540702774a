"""Text in whatever encoding comes out as it was written."""

import io
import random
from typing import BinaryIO

import pytest

from service.adapters.documents.frames import HEADER
from service.adapters.documents.plain_text import copy_text
from service.adapters.documents.refusal import Refused
from service.adapters.documents.text_sink import TextSink

pytestmark = [pytest.mark.rules("R1")]
RUSSIAN = "Привет, как дела? Сегодня хорошая погода. Мы пошли в парк, долго гуляли, потом вернулись домой.\r\n"
JAPANESE = "これは日本語の文章です。今日は天気がいいので、昼休みには公園を散歩します。私は東京に住んでいます。\n"
GERMAN = "Die Straße war naß, und über den Häusern lag Nebel.\rSpäter wurde es schöner.\n\n\t»Grüße«\n"
MANY_MEBIBYTES = 3 << 20


def copied(content: bytes | BinaryIO, media_type: str | None = None, *, max_bytes: int = 64 << 20) -> str:
    out = io.BytesIO()
    sink = TextSink(out, max_bytes=max_bytes)
    copy_text(io.BytesIO(content) if isinstance(content, bytes) else content, sink, media_type=media_type)
    sink.flush()
    return payloads(out.getvalue()).decode()


def payloads(frames: bytes) -> bytes:
    text = b""
    while frames:
        length = HEADER.unpack(frames[: HEADER.size])[1]
        text += frames[HEADER.size : HEADER.size + length]
        frames = frames[HEADER.size + length :]
    return text


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_unicode_text_is_kept_to_the_last_line_end_and_loses_its_mark_alone(encoding: str) -> None:
    text = f"{GERMAN}{JAPANESE}{RUSSIAN}\U0001f600 e\u0301 \ufeff\u2028 end "

    assert copied(text.encode(encoding)) == text


@pytest.mark.parametrize("mark", [b"\xfe\xff", b"\x00\x00\xfe\xff"], ids=["utf-16-be", "utf-32-be"])
def test_big_endian_text_is_known_by_its_mark(mark: bytes) -> None:
    encoding = "utf-16-be" if len(mark) == 2 else "utf-32-be"

    assert copied(mark + RUSSIAN.encode(encoding)) == RUSSIAN


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        (RUSSIAN, "cp1251"),
        (RUSSIAN, "koi8-r"),
        (GERMAN, "cp1252"),
        (JAPANESE, "shift_jis"),
        (JAPANESE, "euc_jp"),
        ("Åsa åkte till Örebro för att köpa ägg och mjölk på lördag.", "cp1252"),
        ("Příliš žluťoučký kůň úpěl ďábelské ódy. Včera jsem byl v obchodě a koupil čerstvé rohlíky.", "cp1250"),
        ("It costs £5 today, she said “then”.", "cp1252"),
        ("café", "latin-1"),
    ],
)
def test_an_encoding_that_nobody_named_is_told_by_the_text(text: str, encoding: str) -> None:
    assert copied(text.encode(encoding)) == text


@pytest.mark.parametrize(
    ("text", "encoding"),
    [("Привет", "koi8-r"), ("日本", "euc_jp"), (JAPANESE, "iso2022_jp"), ("Hello", "utf-16-be"), ("שלום", "cp1255")],
)
def test_the_charset_of_the_media_type_settles_what_the_text_can_not(text: str, encoding: str) -> None:
    assert copied(text.encode(encoding), f'text/plain; charset="{encoding}"') == text


@pytest.mark.parametrize(
    "charset", ["us-ascii", "iso-8859-1", "rot13", "unicode_escape", "utf-7", "no such", "", "utf-16", "iso-2022-jp"]
)
def test_a_wrong_charset_in_the_media_type_does_not_spoil_utf8(charset: str) -> None:
    text = "+AGE- \\x41 Grüße"
    assert len(text.encode()) % 2 == 0

    assert copied(text.encode(), f"text/plain; charset={charset}") == text


def test_utf16_of_a_media_type_is_little_endian_where_no_mark_says_else() -> None:
    assert copied("Hello".encode("utf-16-le"), "text/plain; charset=utf-16") == "Hello"


def test_latin_1_of_a_media_type_means_windows_1252() -> None:
    assert copied(b"\x93then\x94", "text/plain; charset=ISO-8859-1") == "“then”"


def test_text_of_too_few_words_in_an_unknown_encoding_is_refused_rather_than_guessed() -> None:
    with pytest.raises(Refused, match="encoding that could not be told; send it as UTF-8"):
        copied("Привет".encode("koi8-r"))


def test_an_accent_far_behind_plain_letters_still_tells_the_encoding() -> None:
    text = "plain words here\n" * (MANY_MEBIBYTES // 16) + GERMAN * 20

    assert copied(text.encode("cp1252")) == text


def test_characters_are_whole_across_the_pieces_in_which_a_file_is_read() -> None:
    text = "x" + "日本語 \U0001f600" * (MANY_MEBIBYTES // 14)

    assert copied(text.encode()) == text
    assert copied(text.encode("utf-16")) == text


def test_a_damaged_byte_of_utf8_costs_one_character() -> None:
    good = JAPANESE.encode()

    assert copied(good * 3 + b"\xff" + good) == JAPANESE * 3 + "\ufffd" + JAPANESE


@pytest.mark.parametrize(
    "content",
    [
        b"\0\0\0\0",
        b"text and \0 a zero byte",
        "Hello without a mark".encode("utf-16-le"),
        "Grüße".encode("latin-1") + b"\x01\x02",
        "\ufeffa\0b".encode("utf-16-le"),
        random.Random(1).randbytes(5000),
    ],
    ids=["zeros", "zero byte", "utf-16 without mark", "controls", "marked utf-16 with NUL", "noise"],
)
def test_binary_data_is_refused(content: bytes) -> None:
    with pytest.raises(Refused, match="has binary data in it; send it as UTF-8 text"):
        copied(content)


def test_a_marked_file_that_is_damaged_is_refused_with_the_place() -> None:
    with pytest.raises(Refused, match="is marked as UTF-16 but damaged at byte 4; save it anew as UTF-8"):
        copied("\ufeffa".encode("utf-16-le") + b"\x00\xd8a\x00")


def test_text_up_to_the_bound_is_taken_and_one_byte_more_is_not() -> None:
    text = "ä" * (512 * 1024)

    assert copied(text.encode(), max_bytes=1 << 20) == text
    with pytest.raises(Refused, match=r"has more than 1 MiB of text; send it in smaller parts"):
        copied(text.encode() + b"b", max_bytes=1 << 20)


def test_a_nul_or_half_a_surrogate_pair_of_a_library_never_comes_out() -> None:
    out = io.BytesIO()
    sink = TextSink(out, max_bytes=100)
    sink.write("a\0b\ud800c")
    sink.flush()

    assert payloads(out.getvalue()) == b"ab?c"
