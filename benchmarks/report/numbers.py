"""How values are written.

Above: tables, targets, pictures. Below: nothing.
"""

from __future__ import annotations


def written(value: float) -> str:
    """Write a value with three digits that count, and all that stand before the point."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
