"""The text of HTML pages."""

import pytest

from tests.adapters.documents.uploads import text_of

pytestmark = [pytest.mark.anyio, pytest.mark.rules("R1")]


async def test_a_page_is_its_title_paragraphs_lists_and_tables_set_apart() -> None:
    page = """<!doctype html><html><head><meta charset="utf-8"><title>Cats &amp; dogs</title><style>p {}</style></head>
    <body><nav><a href="/">Home</a></nav><h1>Animals</h1>
    <p>One <b>bo</b>ld   paragraph,
    in two lines.</p><p>Another<br>line<br><br>and one&nbsp;more.</p>
    <ul><li>a cat</li><li>a dog<ol start="3"><li>big<li>small</ol></li></ul>
    <table><tr><th>Name</th><th>Age</th><th>Size</th></tr><tr><td>Rex</td><td></td><td>3</td></tr></table>
    <pre>
  kept
    as is</pre><script>alert("no")</script><noscript>Enable scripts</noscript><p hidden>unseen</p>
    <div>first</div><div>second <i>x</i> <u>y</u>.</div></body></html>"""

    read = await text_of("page.html", page.encode())

    assert read.media_type == "text/html"
    assert read.text == (
        "Cats & dogs\n\nAnimals\n\nOne bold paragraph, in two lines.\n\nAnother\nline\n\nand one\xa0more.\n\n"
        "- a cat\n- a dog\n\n3. big\n4. small\n\nName\tAge\tSize\nRex\t\t3\n\n  kept\n    as is\n\n"
        "first\nsecond x y."
    )


async def test_entities_become_characters_and_those_that_name_none_the_replacement_character() -> None:
    read = await text_of("page.html", b"<p>&lt;b&gt; &eacute; &#x1F600; &#xD800; &#0; &unknown;")

    assert read.text == "<b> é \U0001f600 \ufffd \ufffd &unknown;"


@pytest.mark.parametrize(
    ("page", "media_type"),
    [
        ('<meta charset="windows-1251"><p>Привет', None),
        ('<meta http-equiv="Content-Type" content="text/html; charset=windows-1251"><p>Привет', None),
        ('<?xml version="1.0" encoding="windows-1251"?><html><p>Привет</p></html>', None),
        ("<p>Привет", "text/html; charset=windows-1251"),
        ('<meta charset="utf-16"><p>Привет', "text/html; charset=windows-1251"),
        ('<meta charset="koi8-r"><p>Привет', "text/html; charset=windows-1251"),
    ],
)
async def test_the_charset_of_the_media_type_or_else_of_the_page_is_heeded(page: str, media_type: str | None) -> None:
    read = await text_of("page.html", page.encode("cp1251"), media_type)

    assert read.text == "Привет"


async def test_a_page_nested_a_thousand_deep_is_read_like_any_other() -> None:
    read = await text_of("page.html", b"<div>" * 1000 + b"deep" + b"</div>after" * 2)

    assert read.text == "deep\nafter\nafter"
