"""What the demo prints when it is ready: addresses, and lines to paste into another terminal."""

import json
import shlex
from collections.abc import Mapping

from service.cli.demo.plan import Plan

WEATHER_TURN = {
    "content": "What is the weather in Paris?",
    "tool_choice": "required",
    "limits": {"tool_iterations": 1},
    "on_tool_limit": "conclude",
}


MCP_TURN = {**WEATHER_TURN, "content": "Try one of your tools, and tell me what it says."}


def welcome(plan: Plan, data: str, program: str) -> str:
    """Return the text; each command in it can be pasted as it stands. `program` is how this one was called."""
    if plan.mcp is None:
        tools = plan.tool_port_url
        turn_with_tool = _commands(plan.service_url, {"agent": "weather"}, WEATHER_TURN)
    else:
        tools = f"{plan.tool_port_url}  (MCP servers of {plan.mcp}; {plan.tool_port_url}/tools lists them)"
        turn_with_tool = _commands(plan.service_url, {}, MCP_TURN)
    plain_turn = _commands(plan.service_url, {"agent": "plain"}, {"content": "Say hello."})
    return f"""
The demo is ready.

  dashboard     {plan.service_url}/  (in a browser)
  service       {plan.service_url}
  llama-server  {plan.llama_url}
  tool port     {tools}
  data, logs    {data}

A turn in which the model calls a tool; in another terminal:

{turn_with_tool}

Plain chat:

{plain_turn}

The same as a chat in the terminal:

  {shlex.quote(program)} chat --url {plan.service_url}

Ctrl-C ends all of it.
"""


def _commands(url: str, session: Mapping[str, object], turn: Mapping[str, object]) -> str:
    post = "-H 'Content-Type: application/json' -d"
    find_id = """grep -o 'ses_[^"]*' | head -n 1"""
    return (
        f"  SESSION=$(curl -s {url}/sessions {post} '{_compact(session)}' | {find_id})\n"
        f"  curl -N {url}/sessions/$SESSION/turns {post} '{_compact(turn)}'"
    )


def _compact(body: Mapping[str, object]) -> str:
    return json.dumps(body, separators=(",", ":"))
