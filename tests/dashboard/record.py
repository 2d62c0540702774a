"""Record real turns and readings anew, as the dashboard receives them: `python -m tests.dashboard.record [NAME…]`.

Each recording is two files in `recordings/`: `NAME.live.sse` is the stream as it came while it happened, byte for byte,
and `NAME.replay.sse` the same events read again from the log afterwards. They come from the real service, a real
llama-server with the small model, and a tool port. The tests read them without knowing what the model said; look at
what changed before you commit it, and see to it that each file still holds what its name says
(`recordings.test.mjs` does so as well). Takes a few minutes, and more where others want the machine.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from collections.abc import Awaitable, Callable, Mapping
from contextlib import ExitStack
from pathlib import Path

import httpx

from service.core.json_types import JsonObject
from tests.dashboard import scenes
from tests.dashboard.stage import FOLDER, Stage
from tests.live.given_port import given_port, spec
from tests.live.processes import DEMO, TEMPLATES, llama_server, service
from tests.live.troubled_server import TroubledServer

WEATHER = spec("get_weather", "Get the weather of a city.", {"city": {"type": "string"}})
TIDES = {**spec("get_tides", "Get the tides of a harbour.", {"harbour": {"type": "string"}}), "untrusted": True}
DELETE = {
    **spec("delete_file", "Delete a file.", {"id": {"type": "integer", "minimum": 1, "maximum": 99}}),
    "needs_approval": True,
}
AGENTS = """
default = "desk"

[agents.desk]
description = "Answers first"
system = "You are a helpful assistant."
tools = { names = ["handoff_to"] }
sampling = { temperature = 0.0, seed = 1, repeat_penalty = 1.1 }
limits = { max_tokens = 160, thinking_tokens = 0 }

[agents.weather]
description = "Knows the weather"
system = "You are a helpful assistant."
tools = { names = [] }
sampling = { temperature = 0.0, seed = 1, repeat_penalty = 1.1 }
limits = { max_tokens = 60, thinking_tokens = 0 }

[agents.files]
description = "Keeps files"
system = "You are a helpful assistant."
tools = { names = ["delete_file"] }
sampling = { temperature = 0.0, seed = 1, repeat_penalty = 1.1 }
limits = { max_tokens = 160, thinking_tokens = 0 }
"""


def answer_of(call: JsonObject) -> str:
    """Answer a call as the port of these recordings."""
    return "Deleted." if call["tool"] == "delete_file" else f"{call['tool']}: 18 degrees, sunny ☀️"


Scene = Callable[[Stage], Awaitable[None]]

# By the template of the server that they want.
PLAIN: Mapping[str, Scene] = {
    "plain": scenes.plain,
    "cut": scenes.cut,
    "cancel": scenes.cancel,
    "compaction": scenes.compaction,
    "fork": scenes.fork,
    "reading": scenes.read_one,
    "reading_level_2": scenes.read_two,
}
CALLING: Mapping[str, Scene] = {
    "tool_call": scenes.tool_call,
    "broken_off": scenes.broken_off,
    "limit": scenes.limit,
    "everything": scenes.everything,
    "approved": scenes.approved,
    "denied": scenes.denied,
}
HANDING_OVER: Mapping[str, Scene] = {"handoff": scenes.handoff}
THINKING: Mapping[str, Scene] = {"reasoning": scenes.reasoning}
NAMES = {*PLAIN, *CALLING, *HANDING_OVER, *THINKING, "restart", "retrying"}


class Recorder:
    """Starts what the scenes want, and records those that are named."""

    def __init__(self, http: httpx.AsyncClient, port: str, folder: Path, names: set[str]) -> None:
        self._http = http
        self._port = port
        self._folder = folder
        self._names = names

    async def with_template(self, template: Path, all_scenes: Mapping[str, Scene], **settings: str) -> None:
        """Record scenes before a server with this template."""
        wanted = [scene for name, scene in all_scenes.items() if name in self._names]
        if not wanted:
            return
        with (
            llama_server(template, self._folder) as llama,
            service(llama, self._port, self._folder, **settings) as address,
        ):
            for scene in wanted:
                await scene(Stage(address, self._http))

    async def restart(self) -> None:
        """Record a service that is stopped in mid-turn."""
        with llama_server(DEMO / "chatml-demo.jinja", self._folder) as llama:
            await scenes.restart(self._http, llama, self._port, self._folder)

    async def retrying(self) -> None:
        """Record a model server that is killed in mid-stream."""
        quick = {"poll_ms": "100", "load_wait_ms": "60000"}
        with ExitStack() as running:
            troubled = TroubledServer(DEMO / "chatml-demo.jinja", self._folder, "--ctx-size", "2048")
            server = running.enter_context(troubled)
            server.start_and_wait()
            started = service(server.url, self._port, self._folder, "/livez", **quick)
            await scenes.retrying(Stage(running.enter_context(started), self._http), server)


async def record(names: set[str], folder: Path) -> None:
    """Record what is named."""
    agents = folder / "agents.toml"
    agents.write_text(AGENTS, encoding="utf-8")
    async with httpx.AsyncClient(timeout=300, trust_env=False) as http:
        with given_port([WEATHER, TIDES, DELETE], answer_of) as port:
            recorder = Recorder(http, port, folder, names)
            calling = TEMPLATES / "chatml-tools-wrapped.jinja"
            await recorder.with_template(DEMO / "chatml-demo.jinja", PLAIN)
            await recorder.with_template(calling, CALLING)
            await recorder.with_template(calling, HANDING_OVER, agents_file=str(agents))
            await recorder.with_template(TEMPLATES / "chatml-think-drop.jinja", THINKING)
            if "restart" in names:
                await recorder.restart()
            if "retrying" in names:
                await recorder.retrying()


def main() -> None:
    """Record what the command line names."""
    parser = argparse.ArgumentParser(prog="python -m tests.dashboard.record")
    known = ", ".join(sorted(NAMES))
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"those to record (default: all): {known}")
    names = set(parser.parse_args().names) or NAMES
    if unknown := names - NAMES:
        parser.error(f"there is no recording {', '.join(sorted(unknown))}; there are {known}")
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(record(names, Path(folder)))


if __name__ == "__main__":
    main()
