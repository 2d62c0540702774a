"""llama-server over HTTP: `LlamaHttp` is the port `Llama`, `build_llama_client` the client that it needs."""

from service.adapters.llama.connection import LlamaClient, build_llama_client
from service.adapters.llama.server import LlamaHttp, LlamaTimes

__all__ = ["LlamaClient", "LlamaHttp", "LlamaTimes", "build_llama_client"]
