"""What each recorded stream must come to. Counts are the server's; reasoning tokens are the deltas counted."""

from __future__ import annotations

from dataclasses import dataclass

from service.core.completion_events import Completion, CompletionUsage, ModelCall, PromptProgress
from service.core.errors import ErrorKind
from service.core.usage import Timings


@dataclass(frozen=True, slots=True, kw_only=True)
class Broken:
    """A stream that is no completion: why, and what had been shown by then."""

    kind: ErrorKind
    says: str
    content: str = ""
    reasoning: str = ""


def _timings(prompt_ms: float, prompt_rate: float, predicted_ms: float, predicted_rate: float) -> Timings:
    return Timings(
        prompt_ms=prompt_ms,
        prompt_per_second=prompt_rate,
        predicted_ms=predicted_ms,
        predicted_per_second=predicted_rate,
    )


def _done(
    prompt_tokens: int,
    cached_tokens: int,
    completion_tokens: int,
    timings: Timings,
    *,
    content: str = "",
    reasoning: str = "",
    reasoning_tokens: int = 0,
    calls: tuple[ModelCall, ...] = (),
    finish_reason: str = "stop",
) -> Completion:
    return Completion(
        content=content,
        reasoning=reasoning,
        calls=calls,
        finish_reason=finish_reason,
        usage=CompletionUsage(
            prompt_tokens=prompt_tokens,
            cached_tokens=cached_tokens,
            completion_tokens=completion_tokens,
            reasoning_tokens=reasoning_tokens,
        ),
        timings=timings,
    )


def _weather(call_id: str, city: str = "Paris", indent: int = 4) -> ModelCall:
    arguments = "{\n" + " " * indent + f'"city": "{city}"\n' + "}"
    return ModelCall(id=call_id, name="get_weather", arguments=arguments)


_PARIS = "The capital of France is Paris."
_NUMBERS = f"The numbers {', '.join(map(str, range(24)))}, 2"
_NOT_PEG = "The model produced output that does not match the expected peg-native format"
_TOO_EARLY = "before the answer was complete"

EXPECTED: dict[str, Completion | Broken] = {
    "budget_zero_misbehaves": _done(
        22,
        10,
        13,
        _timings(38.435, 312.21542864576554, 68.402, 175.4334668576942),
        reasoning='think>\n\nThe answer is "2+2."',
        reasoning_tokens=12,
    ),
    "closed_gate_with_probabilities": _done(
        85,
        49,
        32,
        _timings(937.028, 38.419342858484484, 2025.319, 15.306230771547593),
        content='{"update": false, "exit": false}',
    ),
    "context_filled_while_generating": _done(
        422,
        0,
        90,
        _timings(848.621, 497.2773476027579, 2005.487, 44.37824827585519),
        content=_NUMBERS,
        finish_reason="length",
    ),
    "finish_length": _done(
        14,
        3,
        6,
        _timings(45.766, 240.35310055499716, 48.219, 103.69356477736991),
        content="In the sleepy town of Rav",
        finish_reason="length",
    ),
    "gates_with_probabilities": _done(
        112,
        0,
        22,
        _timings(4030.307, 27.789446312650625, 1742.54, 12.05137328267931),
        content='{"update": true, "memory": "The key is under the mat.", "exit": false}',
    ),
    "killed_mid_stream": Broken(kind=ErrorKind.STREAM_CLOSED, says=_TOO_EARLY),
    "midstream_error_context": Broken(
        kind=ErrorKind.UPSTREAM_ERROR,
        says="Context size has been exceeded.",
        content=f"The numbers {', '.join(map(str, range(17)))}, ",
    ),
    "midstream_error_parse": Broken(kind=ErrorKind.UPSTREAM_ERROR, says=_NOT_PEG, reasoning="I need the weather.\n</"),
    "midstream_error_parse.b10434": Broken(
        kind=ErrorKind.UPSTREAM_ERROR, says=_NOT_PEG, reasoning="I need the weather.\n</"
    ),
    "no_usage_requested": _done(
        31,
        0,
        4,
        _timings(68.037, 455.6344342049179, 23.443, 127.96996971377382),
        content="Hello! How can",
        finish_reason="length",
    ),
    "parallel_tool_calls": _done(
        192,
        102,
        68,
        _timings(984.596, 91.40804959597642, 938.995, 71.35288260320876),
        calls=(
            _weather("wOPD0DIY9A09SzX4IrlvtXwtMXYtyUNJ"),
            _weather("XsvAotXWwikBMvZl5tHx1EByYWv6zGjs", "London"),
        ),
        finish_reason="tool_calls",
    ),
    "parallel_tool_calls.b10434": _done(
        192,
        3,
        68,
        _timings(410.678, 460.214572000448, 667.857, 100.3208770739844),
        calls=(
            _weather("iXIkc6MBuQ8fNqH5eQpwAnWv8UgyoraP", indent=2),
            _weather("oLvqp3HKSE3PrrF9qqbPFUYs6ZdCNVAX", "London", indent=2),
        ),
        finish_reason="tool_calls",
    ),
    "plain": _done(16, 3, 8, _timings(56.563, 229.83222247759133, 260.852, 26.835140232775675), content=_PARIS),
    "plain.b10434": _done(16, 3, 8, _timings(36.898, 352.322619112147, 62.778, 111.50403007422983), content=_PARIS),
    "probabilities_held_back": _done(
        31,
        4,
        25,
        _timings(715.594, 37.73089209803324, 1807.032, 13.281447146481081),
        content='{"memory": "a 𓀀 🧿 b"}',
    ),
    "progress": _done(
        1103,
        3,
        4,
        _timings(3314.547, 331.8703883215414, 26.294, 114.09447022134327),
        content="The original sentence is",
        finish_reason="length",
    ),
    "progress.b10434": _done(
        1103,
        3,
        4,
        _timings(2588.922, 424.88726968213024, 38.992, 76.93885925318014),
        content="The original sentence is",
        finish_reason="length",
    ),
    "reasoning_only_stop": _done(
        23,
        0,
        7,
        _timings(50.557, 454.9320568862867, 31.335, 191.47917663954044),
        reasoning="2+2 = 4",
        reasoning_tokens=6,
    ),
    "reasoning_then_content": _done(
        22,
        3,
        24,
        _timings(60.484, 314.13266318365186, 134.179, 171.41281422577305),
        reasoning="\nThe answer is 4.",
        reasoning_tokens=6,
        content="In mathematics, the concept of 2+2 is a",
        finish_reason="length",
    ),
    "reasoning_then_json": _done(
        22,
        21,
        27,
        _timings(6.462, 154.75085112968122, 193.042, 134.68571606178966),
        reasoning="\nThe answer is 4.",
        reasoning_tokens=6,
        content='{\n  "answer": 4\n}',
    ),
    "reasoning_then_tool_call": _done(
        254,
        0,
        48,
        _timings(517.398, 490.91801669121253, 367.357, 127.94094028424664),
        reasoning="\nThe weather in Paris is described",
        reasoning_tokens=6,
        calls=(_weather("xeD0HZcN4zP50reTFw9e0cxeM6zFTuhY"),),
        finish_reason="tool_calls",
    ),
    "reasoning_then_tool_call.b10434": _done(
        254,
        0,
        49,
        _timings(536.309, 473.60756578763363, 847.398, 56.643985470817725),
        reasoning="\nThe weather in Paris is a",
        reasoning_tokens=6,
        calls=(_weather("1vxHUTwPHfETWikqD8156W7xJc0vDAVM"),),
        finish_reason="tool_calls",
    ),
    "same_slot_second_waits": _done(
        16, 3, 8, _timings(57.708, 225.2720593331947, 65.734, 106.48979219277695), content=_PARIS
    ),
    "sse_pings": _done(
        1899,
        0,
        4,
        _timings(5149.236, 368.7925742770384, 34.732, 86.37567660946678),
        content="The code is already",
        finish_reason="length",
    ),
    "think_tags_in_content": _done(
        22,
        21,
        8,
        _timings(7.047, 141.90435646374345, 39.472, 177.3408998783948),
        reasoning="\n\nThe answer is",
        reasoning_tokens=4,
    ),
    "tool_call": _done(
        250,
        0,
        75,
        _timings(521.131, 479.72582709529854, 534.704, 138.39432658068765),
        calls=(
            _weather("gvx52jSHLtCRjEzbhzYOKpxx4KcwMHjo"),
            _weather("RnjJSaAarx0mvSYFo9MrHg1O7G6KDOZq"),
        ),
        finish_reason="tool_calls",
    ),
    "tool_call_truncated_by_length": _done(
        250,
        249,
        24,
        _timings(17.185, 58.19028222286879, 392.511, 58.59708390338105),
        calls=(ModelCall(id="JArTCCHy1LrYsgjFpQs9SxVH3SFsBeph", name="get_weather", arguments='{\n    "city": "'),),
        finish_reason="length",
    ),
    "tool_result_then_answer": _done(
        308,
        250,
        18,
        _timings(519.954, 111.54832927528206, 204.615, 83.08286293771229),
        content="<tool_response>\n18 C, sunny\n</tool_response>",
    ),
}

SILENT = "sigterm_mid_stream"
"""The server got SIGTERM: 1708 characters, then nothing, the connection open."""

PROGRESS = {
    "progress": (
        PromptProgress(processed=3, cached=3, total=1103, time_ms=0),
        PromptProgress(processed=1103, cached=3, total=1103, time_ms=3314),
    ),
    "progress.b10434": (
        PromptProgress(processed=3, cached=3, total=1103, time_ms=0),
        PromptProgress(processed=1103, cached=3, total=1103, time_ms=2588),
    ),
}
"""Prompt processing, of the recordings that asked for it."""
