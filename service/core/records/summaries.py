"""The oldest part of a session in few words (C1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from service.core.labels import DataClass
from service.core.usage import UsageTotals


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """From here on the prompt shows `text` in place of what it covers; the originals stay in the log.

    `covers` is the `seq` of the last record that it stands for, 0 when nothing is summarised. `shortened` names the
    calls behind that whose results are shown as head and tail only. Tokens are those of the prompt before and after;
    labels are those of what it covers, and `fence` encloses an untrusted text (P6).
    """

    type: ClassVar[str] = "summary"
    covers: int
    text: str
    shortened: tuple[int, ...] = ()
    tokens_before: int
    tokens_after: int
    data_class: DataClass = DataClass.PUBLIC
    untrusted: bool = False
    fence: str | None = None
    usage: UsageTotals = UsageTotals()
