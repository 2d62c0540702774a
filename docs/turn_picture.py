"""Draws a recorded turn as a picture that moves: its events, each at its time.

`recorded_turn.json` is a turn of `make demo`: the events of its stream with the milliseconds since it was asked for.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

RECORDING = Path(__file__).parent / "recorded_turn.json"

_SLOWER = 4
"""Shown so much slower than it was, to be read."""
_START_MS, _REST_MS = 1_200, 4_500
_WIDTH, _LINE, _TOP, _LEFT = 860, 25, 88, 24
_NAME_AT, _TEXT_AT, _CHARACTER = 98, 250, 8.05

_COMMAND = """$ curl -N …/sessions/ses_…/turns -d '{{"content":"{}"}}'"""
_LEGEND = (
    '<tspan class="r">Records</tspan> are on the disk before they are sent, '
    f'<tspan class="s">signals</tspan> are shown and gone. {_SLOWER} times slower than it was.'
)
_STYLE = """
text{font:13.4px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;fill:#e6edf3;white-space:pre}
.t{fill:#7d8590}.r{fill:#7ee787}.s{fill:#79c0ff}.n{fill:#7d8590;font-size:12px}
@media (prefers-reduced-motion:reduce){*{animation:none!important}}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """A piece of text that appears at a time: a line's name, or text on it; `row` counts lines from the top."""

    ms: int
    row: int
    x: float
    text: str
    style: str = ""


def turn_picture() -> str:
    """Draw the recorded turn as an SVG; whoever wants no motion sees all of it at once."""
    events: list[dict[str, Any]] = json.loads(RECORDING.read_text(encoding="utf-8"))
    shown = list(_shown(events))
    rows = max(piece.row for piece in shown) + 1
    length_ms = _START_MS + _SLOWER * events[-1]["ms"] + _REST_MS
    height = _TOP + rows * _LINE + 40
    pieces = [_piece(number, piece, length_ms) for number, piece in enumerate(shown)]
    question = events[0]["data"]["content"]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" role="img">',
            f"<title>A turn, event by event: {escape(question)} {escape(events[-1]['data']['content'])}</title>",
            f"<style>{_STYLE}{''.join(rule for rule, _ in pieces)}</style>",
            f'<rect width="{_WIDTH}" height="{height}" rx="10" fill="#0d1117"/>',
            f'<text x="{_LEFT}" y="36">{escape(_COMMAND.format(question))}</text>',
            f'<text class="n" x="{_LEFT}" y="60">seconds</text>',
            f'<text class="n" x="{_NAME_AT}" y="60">event</text>',
            *(text for _, text in pieces),
            f'<text class="n" x="{_LEFT}" y="{height - 18}">{_LEGEND}</text>',
            "</svg>",
            "",
        ]
    )


def _shown(events: Sequence[dict[str, Any]]) -> Iterator[Shown]:
    row, column = -1, 0.0
    before = ""
    for event in events:
        ms, name, text = event["ms"], event["event"], _told(event["event"], event["data"])
        if name != "content" or before != "content":
            row, column = row + 1, 0.0
            yield Shown(ms=ms, row=row, x=_LEFT, text=f"{ms / 1000:.2f}", style="t")
            yield Shown(ms=ms, row=row, x=_NAME_AT, text=name, style="r" if "seq" in event["data"] else "s")
        yield Shown(ms=ms, row=row, x=_TEXT_AT + column, text=text)
        column += len(text) * _CHARACTER
        before = name


def _told(name: str, data: dict[str, Any]) -> str:
    match name:
        case "progress":
            return f"{data['processed']} of {data['total']} prompt tokens, {data['cached']} from the cache"
        case "assistant":
            calls = ", ".join(f"{call['name']}({call['arguments']})" for call in data["tool_calls"])
            return calls or data["content"]
        case "usage":
            prompt, cached, new = data["prompt_tokens"], data["cached_tokens"], data["completion_tokens"]
            return f"{prompt} prompt tokens, {cached} cached; {new} new"
        case "tool_call_started":
            return f"call {data['call']} to the tool port"
        case "tool_result":
            return data["content"]
        case "turn_finished":
            return f"{data['outcome']}, after {data['steps']} steps"
        case _:
            return data.get("content") or data["text"]


def _piece(number: int, piece: Shown, length_ms: int) -> tuple[str, str]:
    at = 100 * (_START_MS + _SLOWER * piece.ms) / length_ms
    rule = (
        f"#p{number}{{animation:k{number} {length_ms / 1000:.1f}s linear infinite}}"
        f"@keyframes k{number}{{0%,{at:.2f}%{{opacity:0}}{at + 0.2:.2f}%,98%{{opacity:1}}100%{{opacity:0}}}}"
    )
    style = f' class="{piece.style}"' if piece.style else ""
    place = f'x="{piece.x:.1f}" y="{_TOP + piece.row * _LINE}"'
    return rule, f'<text id="p{number}"{style} {place} xml:space="preserve">{escape(piece.text)}</text>'
