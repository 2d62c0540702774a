"""The peers that are compared with, each with the request that its users send.

Above: the command line, and whoever measures. Below: `peer`.
"""

from __future__ import annotations

from benchmarks.overhead.adapters import OPENAI, Adapter
from benchmarks.peers.peer import Peer

OPENAI_AGENTS = Peer(
    name="openai-agents",
    server="openai_agents_server",
    adapter=Adapter(path="/conversations/{uuid}/turns", body={"message": "{prompt}"}),
    settings=(("OPENAI_AGENTS_DISABLE_TRACING", "1"),),
)
AGNO = Peer(
    name="agno",
    server="agno_server",
    adapter=Adapter(
        path="/agents/bench/runs",
        form={"message": "{prompt}", "stream": "true", "session_id": "{uuid}"},
    ),
    settings=(("AGNO_TELEMETRY", "false"),),
)
LITELLM = Peer(
    name="litellm",
    server="litellm_server",
    adapter=OPENAI,
    settings=(
        # Its guide for production: errors alone are logged, which leaves uvicorn's access log out, too.
        ("LITELLM_LOG", "ERROR"),
        ("LITELLM_MODE", "PRODUCTION"),
        # Lists that it else fetches when it starts; copies come with the package.
        ("LITELLM_LOCAL_MODEL_COST_MAP", "True"),
        ("LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS", "True"),
    ),
)
PYDANTIC_AI = Peer(
    name="pydantic-ai",
    server="pydantic_ai_server",
    adapter=Adapter(
        path="/",
        body={
            "threadId": "{uuid}",
            "runId": "{uuid}",
            "state": {},
            "tools": [],
            "context": [],
            "forwardedProps": {},
            "messages": [{"id": "m1", "role": "user", "content": "{prompt}"}],
        },
    ),
)


def known_peers() -> list[Peer]:
    """List the peers, in the order of the tables."""
    return [OPENAI_AGENTS, AGNO, LITELLM, PYDANTIC_AI]
