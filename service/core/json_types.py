"""Names for raw JSON whose shape is not ours: tool arguments, tool specs, schemas, sampling values."""

from __future__ import annotations

from typing import Any

# Shapes as Python's json module reads them; checked where they enter, never guessed at later.
JsonObject = dict[str, Any]
JsonValue = Any
