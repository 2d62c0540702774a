"""openai-agents behind FastAPI: one agent, its streaming run as server-sent events, its SQLite sessions."""

# Runs in an environment of its own; what it imports isn't in the one that is type-checked.
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import json
from collections.abc import AsyncIterator

import uvicorn
from agents import Agent, OpenAIChatCompletionsModel, Runner, SQLiteSession, set_tracing_disabled
from fastapi import FastAPI
from fastapi.responses import StreamingResponse
from openai import AsyncOpenAI
from pydantic import BaseModel
from settings_of_peer import given_settings, new_database

settings = given_settings()
database = new_database()
set_tracing_disabled(True)
client = AsyncOpenAI(base_url=settings.api)
agent = Agent(name="bench", model=OpenAIChatCompletionsModel(model="fake", openai_client=client))
app = FastAPI()


class Turn(BaseModel):
    """What the user says."""

    message: str


@app.post("/conversations/{conversation}/turns")
async def run_turn(conversation: str, turn: Turn) -> StreamingResponse:
    """Run one turn of a conversation and stream its text."""
    return StreamingResponse(events(conversation, turn.message), media_type="text/event-stream")


async def events(conversation: str, message: str) -> AsyncIterator[str]:
    """Give each piece of text as an event, as the documentation's guide for streaming picks them out."""
    session = SQLiteSession(conversation, database)
    try:
        result = Runner.run_streamed(agent, message, session=session)
        async for event in result.stream_events():
            if event.type == "raw_response_event" and event.data.type == "response.output_text.delta":
                yield f"data: {json.dumps({'text': event.data.delta})}\n\n"
        yield "data: [DONE]\n\n"
    finally:
        session.close()


if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=settings.port, access_log=False, log_level="warning")
