"""What llama-server counts itself: tokens that it evaluated and wrote, and the time that it took for them."""

from __future__ import annotations

from dataclasses import dataclass

import httpx

from benchmarks.reading.failures import BenchmarkFailed
from benchmarks.reading.http_answers import words_of

_PREFIX = "llamacpp:"


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """Sums since the server's start, or between two looks at them; times in seconds."""

    evaluated: int
    evaluating_s: float
    written: int
    writing_s: float

    def __add__(self, other: Counted) -> Counted:
        return Counted(
            evaluated=self.evaluated + other.evaluated,
            evaluating_s=self.evaluating_s + other.evaluating_s,
            written=self.written + other.written,
            writing_s=self.writing_s + other.writing_s,
        )

    def __sub__(self, before: Counted) -> Counted:
        return Counted(
            evaluated=self.evaluated - before.evaluated,
            evaluating_s=self.evaluating_s - before.evaluating_s,
            written=self.written - before.written,
            writing_s=self.writing_s - before.writing_s,
        )

    @property
    def server_s(self) -> float:
        """How long the server worked."""
        return self.evaluating_s + self.writing_s


async def counted(http: httpx.AsyncClient, llama_url: str) -> Counted:
    """Look at the sums.

    Raises:
        BenchmarkFailed: the server doesn't tell them.
    """
    try:
        answer = await http.get(f"{llama_url.rstrip('/')}/metrics")
        answer.raise_for_status()
        lines = [line.split() for line in answer.text.splitlines() if line.startswith(_PREFIX)]
        sums = {line[0].removeprefix(_PREFIX): float(line[1]) for line in lines}
        return Counted(
            evaluated=int(sums["prompt_tokens_total"]),
            evaluating_s=sums["prompt_seconds_total"],
            written=int(sums["tokens_predicted_total"]),
            writing_s=sums["tokens_predicted_seconds_total"],
        )
    except httpx.HTTPError as error:
        raise BenchmarkFailed(f"llama-server tells no sums, start it with --metrics: {words_of(error)}") from error
    except (KeyError, ValueError, IndexError) as error:
        raise BenchmarkFailed(f"llama-server's /metrics has an unknown form: {error!r}") from error
