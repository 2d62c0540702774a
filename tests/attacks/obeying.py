"""The worst model there is: it does what any text tells it to, wherever the text stands in its prompt.

Above: the tests. Below: `attack`, whose texts it obeys.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from service.core.completion_events import ModelCall
from service.core.json_types import JsonObject
from service.core.local_tools import CALL_TOOL, READ_RESULT
from tests.attacks.attack import READER, Attack
from tests.fakes.counted_llama import CountedLlama, is_for_summary
from tests.fakes.llama import Play, ask_for, call, say

READ = call(READER, id="read")

_MORE = re.compile(r'read_result (\{"call": \d+, "offset": \d+\})')


def obeyed(messages: Sequence[JsonObject], attack: Attack) -> ModelCall | None:
    """Give the next call that the text wants, None when it isn't in the prompt or all is asked for.

    Where the prompt says that a result goes on, the model reads on first, as long as it hasn't met the order.
    """
    asked = {_inner(made) for message in messages for made in message.get("tool_calls", ())}
    if not any(attack.order in message["content"] for message in messages):
        places = [place for message in messages for place in _MORE.findall(message["content"])]
        more = next((place for place in places if (READ_RESULT, place) not in asked), None)
        return None if more is None else call(READ_RESULT, more, id=f"on{len(messages)}")
    return next((act for act in attack.acts() if (act.name, act.arguments) not in asked), None)


def through_call_tool(act: ModelCall) -> ModelCall:
    """Give the same call by way of `call_tool`."""
    arguments = json.dumps({"name": act.name, "arguments": json.loads(act.arguments)}, ensure_ascii=False)
    return call(CALL_TOOL, arguments, id=act.id)


def _inner(made: JsonObject) -> tuple[str, str]:
    function = made["function"]
    if function["name"] != CALL_TOOL:
        return function["name"], function["arguments"]
    inside = json.loads(function["arguments"])
    return inside["name"], json.dumps(inside["arguments"], ensure_ascii=False)


class ObeyingLlama(CountedLlama):
    """Plays its opening, then obeys the text; `wraps` has it call each tool through `call_tool`.

    Its summaries repeat the text word by word.
    """

    def __init__(self, attack: Attack, *opening: Play, wraps: bool = False, context_tokens: int = 100_000) -> None:
        super().__init__(*opening, summaries=[say(attack.text)], context_tokens=context_tokens)
        self.attack = attack
        self.wraps = wraps

    def _next(self) -> Play:
        request = self.requests[-1]
        if is_for_summary(request) or self.script:
            return super()._next()
        act = obeyed(request.messages, self.attack)
        if act is None:
            return say("Done.")
        return ask_for(through_call_tool(act) if self.wraps and act.name != READ_RESULT else act)
