"""What a server that is a program gets of this process's environment: what programs need to run at all, no secrets."""

from __future__ import annotations

from collections.abc import Mapping

NEEDED: Mapping[str, str] = {
    "PATH": "where programs are found, also those that a script starts",
    "HOME": "where programs keep their caches; without it npx does not start",
    "LANG": "how they write text",
    "LC_ALL": "how they write text",
    "TMPDIR": "where they may put files for a while",
    "TZ": "which time it is here",
    "SYSTEMROOT": "without it nothing starts on Windows",
    "TEMP": "TMPDIR of Windows",
    "TMP": "TMPDIR of Windows",
    "PATHEXT": "how programs are found on Windows",
    "COMSPEC": "how scripts are run on Windows",
    "APPDATA": "where programs of Windows keep what is theirs",
    "LOCALAPPDATA": "where programs of Windows keep what is theirs",
    "USERPROFILE": "HOME of Windows",
}
"""Why each is handed on; all others are only if the file names them."""


def environment_of(named: Mapping[str, str], ours: Mapping[str, str]) -> dict[str, str]:
    """Give the variables of a server: the needed ones of ours, and over them those that the file names."""
    return {**{name: ours[name] for name in NEEDED if name in ours}, **named}
