"""Why a benchmark could not measure.

Above: all that measures. Below: nothing.
"""

from __future__ import annotations


class MeasurementFailed(Exception):
    """A subject did not do what it was asked; one line says what was seen instead."""
