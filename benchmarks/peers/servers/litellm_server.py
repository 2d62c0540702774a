"""litellm's proxy, as its own command starts it, with one worker."""

# Runs in an environment of its own; what it imports isn't in the one that is type-checked.
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import os
from pathlib import Path

from litellm import run_server
from settings_of_peer import given_settings

if __name__ == "__main__":
    settings = given_settings()
    # The configuration names this variable.
    os.environ["PEER_API"] = settings.api
    config = Path(__file__).with_name("litellm.yaml")
    run_server(
        ["--config", str(config), "--host", "127.0.0.1", "--port", str(settings.port), "--num_workers", "1"],
    )
