"""The text of an HTML page: what somebody reads, without scripts, styles and menus."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

from selectolax.lexbor import LexborHTMLParser, LexborNode, SelectolaxError

from service.adapters.documents.charsets import decoded, encoding_of
from service.adapters.documents.confinement import no_more_files
from service.adapters.documents.flowing_text import FlowingText
from service.adapters.documents.text_sink import TextSink

# What isn't text, what is a control, and what leads elsewhere.
_NO_TEXT = """
    audio button canvas datalist embed head iframe math nav noscript object script select style svg template textarea
    title video
"""
_WITH_SPACE_AROUND = """
    article blockquote dl fieldset figure form h1 h2 h3 h4 h5 h6 hr menu ol p pre section table ul
"""
_OF_THEIR_OWN = """
    address aside body caption center dd details dialog div dt figcaption footer header hgroup legend li main summary
    tbody tfoot thead tr
"""
_LEFT_OUT = frozenset(_NO_TEXT.split())
_PARAGRAPHS = frozenset(_WITH_SPACE_AROUND.split())
_LINES = frozenset(_OF_THEIR_OWN.split())
_LISTS = frozenset({"menu", "ol", "ul"})
_CELLS = ("td", "th")


def write_html_text(file: BinaryIO, sink: TextSink, *, media_type: str | None) -> None:
    """Write the text of a page into the sink, its title first.

    Raises:
        Refused: the file is no text, or its text larger than the sink takes.
    """
    source = "".join(decoded(file, encoding_of(file, media_type=media_type, html=True)))
    no_more_files()
    page = _parsed(source)
    del source
    flow = FlowingText(sink.write)
    title = page.css_first("head > title")
    if title is not None:
        flow.words(title.text())
        flow.paragraph()
    if page.body is not None:
        _Walk(flow).over(page.body)


def _parsed(source: str) -> LexborHTMLParser:
    try:
        return LexborHTMLParser(source)
    except SelectolaxError as error:
        # Any bytes make a page; what can be lacking is memory alone.
        raise MemoryError from error


class _Walk:
    """One walk over a page, without recursion: pages can be nested as deep as their author likes."""

    def __init__(self, flow: FlowingText) -> None:
        self._flow = flow
        self._lists: list[Iterator[str]] = []
        self._verbatim = 0

    def over(self, root: LexborNode) -> None:
        """Write the text of an element and of all in it."""
        open_nodes: list[LexborNode] = []
        node: LexborNode | None = root
        while node is not None:
            if self._enter(node):
                open_nodes.append(node)
                if node.first_child is not None:
                    node = node.first_child
                    continue
                self._leave(open_nodes.pop())
            node = self._next(node, open_nodes)

    def _next(self, node: LexborNode, open_nodes: list[LexborNode]) -> LexborNode | None:
        while open_nodes:
            if node.next is not None:
                return node.next
            node = open_nodes.pop()
            self._leave(node)
        return None

    def _enter(self, node: LexborNode) -> bool:
        """Write a text, or what stands before an element's children; tell whether these are of interest."""
        if node.is_text_node:
            self._text(node.text_content or "")
            return False
        if _is_left_out(node):
            return False
        tag = node.tag or ""
        self._break_around(tag)
        if tag == "li":
            self._flow.item(next(self._lists[-1]) if self._lists else "- ")
        elif tag in _CELLS and _has_cell_before(node):
            self._flow.cell()
        elif tag in _LISTS:
            self._lists.append(_markers(node))
        elif tag == "pre":
            self._verbatim += 1
        return True

    def _leave(self, node: LexborNode) -> None:
        tag = node.tag or ""
        self._break_around(tag)
        if tag == "br":
            self._flow.one_more_line()
        elif tag in _LISTS:
            self._lists.pop()
        elif tag == "pre":
            self._verbatim -= 1

    def _break_around(self, tag: str) -> None:
        if tag in _PARAGRAPHS:
            self._flow.paragraph()
        elif tag in _LINES:
            self._flow.line()

    def _text(self, text: str) -> None:
        if self._verbatim:
            self._flow.verbatim(text)
        else:
            self._flow.words(text)


def _is_left_out(node: LexborNode) -> bool:
    return node.tag in _LEFT_OUT or "hidden" in node.attributes


def _has_cell_before(node: LexborNode) -> bool:
    before = node.prev
    while before is not None and before.tag not in _CELLS:
        before = before.prev
    return before is not None


def _markers(node: LexborNode) -> Iterator[str]:
    if node.tag != "ol":
        while True:
            yield "- "
    start = node.attributes.get("start") or ""
    number = int(start) if start.isdecimal() and len(start) < 10 else 1
    while True:
        yield f"{number}. "
        number += 1
