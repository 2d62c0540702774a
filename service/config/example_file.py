"""A `turnkeeper.toml` that names each setting, says what it is and why its default is what it is, and changes none."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from service.config.catalogue import CATALOGUE
from service.config.origins import variable_of
from service.config.setting_words import default_of, described, range_of
from service.config.settings import CONFIG_FILE

_WIDTH = 100

EXAMPLES = {
    "llama_api_key": '"the-key-of-llama-server"',
    "model": '"qwen3-4b"',
    "tool_port_url": '"http://127.0.0.1:8090"',
    "tool_port_token": '"the-token-of-the-tool-port"',
    "tool_port_secret": '"whsec_and-the-base64-of-32-random-bytes"',
    "agents_file": '"agents.toml"',
    "database_url": '"sqlite:////var/lib/turnkeeper/turnkeeper.db"',
    "api_keys_file": '"keys.json"',
    "slots": "4",
    "traces_url": '"http://127.0.0.1:4318"',
}
"""What to write where there is no default, or one that differs from user to user."""

_HEAD = (
    f"All settings of Turnkeeper. Copy this file to {CONFIG_FILE} in the folder where the service is started, and "
    "take the # away before a line that you change. A variable of the environment wins over this file: TURNKEEPER_ and "
    f"the name in capitals, as {variable_of('llama_url')}. The command line wins over both."
)


def example_file() -> str:
    """Give the file's text."""
    return "".join(f"{line}\n" for line in _lines())


def _lines() -> Iterator[str]:
    yield from _comment(_HEAD)
    for group in CATALOGUE:
        yield from ("", f"# --- {group.title} ---")
        for name, reason in group.reasons.items():
            yield ""
            yield from _comment(f"{described(name)} {_range(name)}Default: {default_of(name)}, since {reason}.")
            yield f"#{name} = {EXAMPLES.get(name) or default_of(name)}"


def _range(name: str) -> str:
    found = range_of(name)
    return f"{found[0].upper()}{found[1:]}. " if found else ""


def _comment(text: str) -> list[str]:
    return textwrap.wrap(
        text, _WIDTH, initial_indent="# ", subsequent_indent="# ", break_long_words=False, break_on_hyphens=False
    )
