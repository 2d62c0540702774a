"""The value below which a share of many lies.

Above: the modes. Below: nothing.
"""

from __future__ import annotations

from collections.abc import Sequence


def percentile(values: Sequence[float], share: float) -> float:
    """Give the value that `share` (0 to 1) of all lie below.

    Raises:
        ValueError: there are no values.
    """
    if not values:
        raise ValueError("there is nothing to take a percentile of")
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]
