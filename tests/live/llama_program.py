"""Which program the tests of this folder start as llama-server.

By default it is llama-server's own code in the Python extension of the demo. With `TURNKEEPER_TEST_LLAMA_SERVER` set
it is the program at that path: `TURNKEEPER_TEST_LLAMA_SERVER=/path/to/llama-server make live`.

What a small model says differs from machine to machine, and no test may hang on it: with other numbers in its cache it
says other things here as well, `TURNKEEPER_TEST_CACHE_TYPE=q8_0 make live` (or q4_0, f32, bf16).
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from service.cli.demo.plan import packaged_model

PROGRAM_VARIABLE = "TURNKEEPER_TEST_LLAMA_SERVER"
# Read when this module is loaded: a test runs without the variables that look like settings of the service.
PROGRAM = os.environ.get(PROGRAM_VARIABLE)
CACHE_TYPE = os.environ.get("TURNKEEPER_TEST_CACHE_TYPE", "f16")

# Threads of llama.cpp wait for one another by spinning: where cores are few and busy, one alone is many times faster.
THREADS = "1"


def llama_command(port: int, template: Path, *options: str) -> list[str]:
    """Give the command of a llama-server with the small model; `options` are those of the demo's server."""
    model = packaged_model()
    if model is None:
        pytest.skip("no llama-server for this platform on the package index")
    served = ["--model", str(model), "--port", str(port), "--chat-template-file", str(template), "--threads", THREADS]
    served += ["--cache-type-k", CACHE_TYPE, *options]
    if PROGRAM is None:
        return [sys.executable, "-m", "service.cli.demo.llama_server", *served]
    if "--batch-size" in options:
        served += ["--ubatch-size", options[options.index("--batch-size") + 1]]
    return [PROGRAM, *served, "--metrics", "--props", "--slots"]
