"""Run llama-server in this process, from the Python extension `xllamacpp`.

`python -m service.cli.demo.llama_server --model FILE --port N`. SIGTERM and SIGINT end it at once, and so
does the end of its parent.
"""

import argparse
import importlib
import signal
import sys
import threading
from pathlib import Path
from typing import Any

from service.cli.demo.tether import end_with_parent


def main() -> None:
    """Serve the model until a signal comes."""
    options = _parser().parse_args()
    # Python's own handlers run between two byte codes of the main thread, and so not while the extension
    # loads a model. The system's default handlers end the process at any moment.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    end_with_parent()
    # Has no type information, and is not installed where it has no wheel.
    xllamacpp: Any = importlib.import_module("xllamacpp")
    try:
        server: Any = xllamacpp.Server(_parameters(xllamacpp, options))
    except RuntimeError as error:
        sys.exit(f"llama-server did not start with {options.model} on port {options.port}: {error}")
    sys.stderr.write(f"llama-server is listening on {server.listening_address}\n")
    threading.Event().wait()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m service.cli.demo.llama_server", description=main.__doc__)
    parser.add_argument("--model", type=Path, required=True, help="the model, a GGUF file")
    parser.add_argument("--chat-template-file", type=Path, help="in place of the model's own template")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8080)
    parser.add_argument("--parallel", type=int, default=2, help="slots (default: %(default)s)")
    parser.add_argument("--ctx-size", type=int, default=8192, help="tokens, shared evenly by the slots")
    parser.add_argument("--batch-size", type=int, help="tokens of a prompt that are evaluated at a time")
    parser.add_argument(
        "--cache-ram", type=int, help="MiB of memory for prompts that no slot holds any more, 0 for none"
    )
    parser.add_argument("--cache-type-k", help="type of the numbers that it keeps of a prompt, like f16 or q8_0")
    parser.add_argument("--threads", type=int, help="threads that compute (default: one for each core)")
    parser.add_argument("--alias", help="name of the model in answers")
    parser.add_argument("--api-key", help="key that callers must send")
    return parser


def _parameters(xllamacpp: Any, options: argparse.Namespace) -> Any:
    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(options.model)
    parameters.hostnames = [options.host]
    parameters.port = options.port
    parameters.n_ctx = options.ctx_size
    # Said explicitly, with a KV cache for each slot: by default all slots share one, and when it overflows
    # every running answer breaks off.
    parameters.n_parallel = options.parallel
    parameters.kv_unified = False
    parameters.endpoint_slots = True
    parameters.endpoint_metrics = True
    parameters.endpoint_props = True
    if options.chat_template_file is not None:
        parameters.chat_template = options.chat_template_file.read_text(encoding="utf-8")
    if options.batch_size is not None:
        parameters.n_batch = parameters.n_ubatch = options.batch_size
    if options.cache_ram is not None:
        parameters.cache_ram_mib = options.cache_ram
    if options.cache_type_k is not None:
        parameters.cache_type_k = xllamacpp.ggml_type[f"GGML_TYPE_{options.cache_type_k.upper()}"]
    if options.threads is not None:
        parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = options.threads
    if options.alias is not None:
        parameters.model_alias = {options.alias}
    if options.api_key is not None:
        parameters.api_keys = [options.api_key]
    return parameters


if __name__ == "__main__":
    main()
