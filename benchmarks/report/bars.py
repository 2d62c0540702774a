"""Bars as SVG, written by hand: readable on light and on dark ground, and by those who can't see them.

Above: the pictures of the page. Below: nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

from benchmarks.report.numbers import written

_WIDTH = 760
_LEAST_NAMES = 140
_LETTER = 7
_VALUES = 100
_BAR = 18
_GAP = 12
_TOP = 62
_BOTTOM = 14
# Beyond this ratio the least bars of a linear scale can't be seen.
_WIDEST_LINEAR = 60
_STYLE = """\
<style>
 svg { font: 13px system-ui, sans-serif; }
 .title { font-size: 15px; font-weight: 600; }
 .ground { fill: #ffffff; } text { fill: #1f2328; } .small { fill: #59636e; }
 .bar { fill: #8c959f; } .second { fill: #c2c8ce; } .third { fill: #dfe3e6; }
 .own .bar { fill: #0969da; } .own .second { fill: #6cb0f5; } .own .third { fill: #b6d9fb; }
 @media (prefers-color-scheme: dark) {
  .ground { fill: #161b22; } text { fill: #e6edf3; } .small { fill: #9198a1; }
  .bar { fill: #7d8590; } .second { fill: #565d66; } .third { fill: #3d444d; }
  .own .bar { fill: #4493f8; } .own .second { fill: #2f6bbd; } .own .third { fill: #234b80; }
 }
</style>"""
_CLASSES = ("bar", "second", "third")


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """The bars of one name: a value for each series, None where there is none; `own` ones are set off."""

    name: str
    values: tuple[float | None, ...]
    own: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Bars:
    """A picture; it has at most three series, and at least one value."""

    title: str
    unit: str
    series: tuple[str, ...]
    groups: tuple[Group, ...]


def as_svg(bars: Bars) -> str:
    """Draw the bars, from left to right, one group below the other."""
    found = [value for group in bars.groups for value in group.values if value is not None]
    names = max(_LEAST_NAMES, 26 + _LETTER * max(len(group.name) for group in bars.groups))
    scale = _Scale(found, names)
    height_of_group = _BAR * len(bars.series) + _GAP
    height = _TOP + height_of_group * len(bars.groups) + _BOTTOM
    size = f'viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">',
        f"<title>{escape(bars.title)}, {escape(bars.unit)}: {escape(_spoken(bars))}</title>",
        _STYLE,
        f'<rect class="ground" width="{_WIDTH}" height="{height}" rx="8"/>',
        f'<text class="title" x="16" y="26">{escape(bars.title)}</text>',
        f'<text class="small" x="16" y="46">{escape(_legend(bars, scale))}</text>',
    ]
    for number, group in enumerate(bars.groups):
        lines += _group(group, _TOP + number * height_of_group, scale)
    return "\n".join([*lines, "</svg>", ""])


class _Scale:
    """From values to lengths of bars: linear, or logarithmic where the values differ too much for that."""

    def __init__(self, values: Sequence[float], left: int) -> None:
        self.left = left
        positive = [value for value in values if value > 0]
        self._most = max(positive, default=1.0)
        least = min(positive, default=1.0)
        self.is_logarithmic = self._most / least > _WIDEST_LINEAR
        self._origin = 10 ** (math.floor(math.log10(least)) - 0.3)

    def length(self, value: float) -> float:
        full = _WIDTH - self.left - _VALUES
        if value <= 0:
            return 0.0
        if not self.is_logarithmic:
            return full * value / self._most
        return full * math.log(value / self._origin) / math.log(self._most / self._origin)


def _group(group: Group, top: int, scale: _Scale) -> list[str]:
    middle = top + _BAR * len(group.values) / 2 + 3.5
    lines = [
        '<g class="own">' if group.own else "<g>",
        f'<text x="{scale.left - 10}" y="{middle:g}" text-anchor="end">{escape(group.name)}</text>',
    ]
    for number, value in enumerate(group.values):
        if value is None:
            continue
        y, length = top + number * _BAR, scale.length(value)
        size = f'width="{length:.1f}" height="{_BAR - 3}"'
        lines.append(f'<rect class="{_CLASSES[number]}" x="{scale.left}" y="{y}" {size} rx="2"/>')
        lines.append(f'<text x="{scale.left + length + 6:.1f}" y="{y + 12.5:g}">{escape(written(value))}</text>')
    return [*lines, "</g>"]


def _legend(bars: Bars, scale: _Scale) -> str:
    order = " (from above)" if len(bars.series) > 1 else ""
    return f"{', '.join(bars.series)}{order}, {bars.unit}{', logarithmic' if scale.is_logarithmic else ''}"


def _spoken(bars: Bars) -> str:
    groups = ((g.name, [written(value) for value in g.values if value is not None]) for g in bars.groups)
    return "; ".join(f"{name} {', '.join(values)}" for name, values in groups)
