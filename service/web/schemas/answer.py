"""What every answer of the API is made of."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import BaseModel, ConfigDict, PlainSerializer, WithJsonSchema

from service.codec import format_time

Time = Annotated[datetime, PlainSerializer(format_time), WithJsonSchema({"type": "string", "format": "date-time"})]
"""RFC 3339 in UTC."""


class Answer(BaseModel):
    """What all answers have in common: they are read off the core's values."""

    model_config = ConfigDict(from_attributes=True)
