"""pydantic-ai's AG-UI adapter in a Starlette application with one agent; the conversation is kept by the client."""

# Runs in an environment of its own; what it imports isn't in the one that is type-checked.
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import uvicorn
from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider
from pydantic_ai.ui.ag_ui import AGUIAdapter
from settings_of_peer import given_settings
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

settings = given_settings()
provider = OpenAICompatibleProvider("llama-server", base_url=settings.api, api_key="none")
agent = Agent(OpenAIChatModel("fake", provider=provider))


async def run_agent(request: Request) -> Response:
    """Run the agent on the conversation that the client sends, and stream AG-UI's events."""
    return await AGUIAdapter.dispatch_request(request, agent=agent)


app = Starlette(routes=[Route("/", run_agent, methods=["POST"])])

if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=settings.port, access_log=False, log_level="warning")
