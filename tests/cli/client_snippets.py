"""The snippets of `docs/howto/call-it-from-code.md` as programs that a test runs."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.dashboard.node import node_program
from tests.proxy.programs import program

HOWTO = Path(__file__).parents[2] / "docs/howto"
SNIPPETS = HOWTO / "snippets/clients"
BOUND_S = 40

LANGUAGES = ("curl", "python", "javascript")

# What a page or a program would do with the functions.
_DRIVERS = {
    "stream": """
        const outcome = await ask(url, words[0], (text) => process.stdout.write(text));
        console.log(`\\n[${outcome}]`);
    """,
    "resume": "await follow(words[0], (text) => process.stdout.write(text));",
    "wait": "const turn = await ask(url, words[0]); console.log(turn.outcome, turn.content);",
    "approve": """
        const session = await (await fetch(`${url}/sessions`, { method: "POST" })).json();
        const turn = await ask(url, session.id, words[0], async (call) => {
          console.log(`${call.title}: ${call.name} ${call.arguments} (${call.reason})`);
          return readFileSync(0, "utf8") === "y\\n";
        });
        console.log(turn.outcome, turn.content);
    """,
    "keyed": """
        const session = await postOnce(`${url}/sessions`, {}, process.env.TURNKEEPER_API_KEY);
        const turn = await postOnce(
          `${url}/sessions/${session.id}/turns`, { content: words[0] }, process.env.TURNKEEPER_API_KEY,
        );
        console.log(turn.outcome, turn.content);
    """,
}
_FUNCTIONS = {"stream": "ask", "resume": "follow", "wait": "ask", "approve": "ask", "keyed": "postOnce"}


@dataclass(frozen=True)
class Snippet:
    """A snippet that runs."""

    process: asyncio.subprocess.Process

    async def until(self, text: str) -> str:
        """Read what it says up to this text."""
        assert self.process.stdout is not None
        async with asyncio.timeout(BOUND_S):
            return (await self.process.stdout.readuntil(text.encode())).decode()

    async def end(self, typed: str = "") -> str:
        """Read the rest of what it says; it must end well."""
        async with asyncio.timeout(BOUND_S):
            said, errors = await self.process.communicate(typed.encode())
        assert self.process.returncode == 0, errors.decode()
        return said.decode()


def _command(language: str, name: str, folder: Path) -> list[str]:
    if language == "curl":
        program("curl", "curl")
        return [program("sh", "dash"), str(SNIPPETS / f"{name}.sh")]
    if language == "python":
        return [sys.executable, str(SNIPPETS / f"{name}.py")]
    driver = folder / "driver.mjs"
    driver.write_text(
        'import { readFileSync } from "node:fs";\n'
        f'import {{ {_FUNCTIONS[name]} }} from "{(SNIPPETS / name).as_uri()}.mjs";\n'
        "const url = process.env.TURNKEEPER_URL;\n"
        f"const words = process.argv.slice(2);\n{_DRIVERS[name]}\n",
        encoding="utf-8",
    )
    return [node_program(), str(driver)]


@asynccontextmanager
async def running(
    language: str, name: str, folder: Path, url: str, *words: str, **environment: str
) -> AsyncGenerator[Snippet]:
    """Run a snippet against the service at this address."""
    command = await asyncio.to_thread(_command, language, name, folder)
    process = await asyncio.create_subprocess_exec(
        *command,
        *words,
        env={**os.environ, "TURNKEEPER_URL": url, "PYTHONDONTWRITEBYTECODE": "1", **environment},
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        yield Snippet(process)
    finally:
        if process.returncode is None:
            process.kill()
            await process.communicate()


async def run(
    language: str, name: str, folder: Path, url: str, *words: str, typed: str = "", **environment: str
) -> str:
    """Run a snippet to its end and give what it says."""
    async with running(language, name, folder, url, *words, **environment) as snippet:
        return await snippet.end(typed)
