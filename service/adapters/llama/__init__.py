"""llama-server over HTTP: `LlamaHttp` is the port `Llama`, `build_llama_client` the connection that it needs."""

from service.adapters.llama.connection import build_llama_client
from service.adapters.llama.server import LlamaHttp, LlamaTimes

__all__ = ["LlamaHttp", "LlamaTimes", "build_llama_client"]
