"""The tool port over HTTP (section 8).

Above: the loop, by the protocol `ToolPort`, and `bootstrap`, which builds the client. Below: httpx over aiohttp.
"""

from service.adapters.tools.connection import build_tool_client
from service.adapters.tools.port import ToolPortHttp
from service.adapters.tools.signing import RequestSigner

__all__ = ["RequestSigner", "ToolPortHttp", "build_tool_client"]
