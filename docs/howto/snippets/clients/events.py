"""The events of responses, and where to go on when one breaks off."""

import json
from collections.abc import Iterator
from typing import Any

import httpx


class Events:
    """Reads server-sent events; `last_id` is that of the last record that was dealt with."""

    def __init__(self) -> None:
        self.last_id = "0"
        self.retry_s = 2.0

    def of(self, response: httpx.Response) -> Iterator[dict[str, Any]]:
        """Give the events that come whole; lines that are no fields are comments."""
        fields: dict[str, str] = {}
        for line in response.iter_lines():
            if line:
                name, _, value = line.partition(": ")
                fields[name] = value
                continue
            self.retry_s = int(fields.get("retry", self.retry_s * 1000)) / 1000
            if "data" in fields:
                yield json.loads(fields["data"])
                self.last_id = fields.get("id", self.last_id)
            fields.clear()
