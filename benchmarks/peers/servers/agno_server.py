"""agno's AgentOS with one agent and its SQLite database."""

# Runs in an environment of its own; what it imports isn't in the one that is type-checked.
# pyright: basic, reportMissingImports=false

from __future__ import annotations

from agno.agent import Agent
from agno.db.sqlite import SqliteDb
from agno.models.llama_cpp import LlamaCpp
from agno.os import AgentOS
from settings_of_peer import given_settings, new_database

settings = given_settings()
agent = Agent(
    id="bench",
    name="bench",
    model=LlamaCpp(id="fake", base_url=settings.api),
    db=SqliteDb(db_file=new_database()),
    add_history_to_context=True,
    telemetry=False,
)
agent_os = AgentOS(agents=[agent], telemetry=False)
app = agent_os.get_app()

if __name__ == "__main__":
    agent_os.serve(app=app, host="127.0.0.1", port=settings.port, log_level="warning")
