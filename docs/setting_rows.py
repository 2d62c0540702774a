"""The page of settings, from the settings themselves."""

from __future__ import annotations

from collections.abc import Iterator

from service.config.catalogue import CATALOGUE, SettingGroup
from service.config.origins import variable_of
from service.config.setting_words import default_of, described, kind_of

_HEAD = """\
# Settings

Made from `service/config` by `make docs`; don't edit it here.

A setting is a variable of the environment or a line of `turnkeeper.toml` in the folder where the service is started:

```sh
TURNKEEPER_TOOL_ITERATIONS=3 turnkeeper serve
```

```toml
tool_iterations = 3
```

The environment wins over the file, and some options of the command line over both (`turnkeeper serve --help`). An empty
variable counts as not set. Lists and tables are JSON in the environment: `TURNKEEPER_ALLOWED_HOSTS='["chat.example"]'`.
A value that can't be used stops the start with one line that names the setting and says what it may be; a name that is
no setting does so in the file, and is told in the environment.

- `turnkeeper config` prints what is in force and where each value came from; `--changed` leaves the defaults out.
- [turnkeeper.example.toml](../turnkeeper.example.toml) has all of them with their explanations, to copy from;
  `turnkeeper config --example` prints it.
- [turnkeeper.schema.json](turnkeeper.schema.json) is a JSON schema of the file, for editors that check TOML.

Units are in the names: `_ms` milliseconds, `_s` seconds, `_bytes` bytes, `_tokens` tokens of the model. Names in
brackets such as (T5) are rules; the tests name them as well.
"""


def settings_page() -> str:
    """Tabulate all settings by groups: what each is, its default and why."""
    return "\n".join([_HEAD, *(line for group in CATALOGUE for line in _group(group))])


def _group(group: SettingGroup) -> Iterator[str]:
    yield from (f"## {group.title}", "", "| setting | what it is | value | default | why |", "|---|---|---|---|---|")
    for name, reason in group.reasons.items():
        default = default_of(name)
        shown = default if default in _WORDS else f"`{default}`"
        yield f"| `{name}`<br>`{variable_of(name)}` | {described(name)} | {kind_of(name)} | {shown} | {reason} |"
    yield ""


_WORDS = ("none", "a file of this user")
