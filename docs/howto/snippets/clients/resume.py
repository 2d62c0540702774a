"""Print an answer as it comes, over broken connections and restarts: python resume.py "Why is the sky blue?"."""

import os
import sys
import time

import httpx
from events import Events

URL = os.environ.get("TURNKEEPER_URL", "http://127.0.0.1:8000")

with httpx.Client(base_url=URL, timeout=60) as http:
    session = http.post("/sessions", json={}).raise_for_status().headers["Location"]
    started = http.post(f"{session}/turns", json={"content": sys.argv[1]}, headers={"Prefer": "respond-async"})
    turn = started.raise_for_status().headers["Location"]
    events, shown, ended = Events(), "", False
    while not ended:
        try:
            with http.stream("GET", f"{turn}/events", headers={"Last-Event-ID": events.last_id}) as response:
                for event in events.of(response.raise_for_status()):
                    if event["type"] == "content":
                        print(event["text"], end="", flush=True)
                        shown += event["text"]
                    elif event["type"] in ("partial", "assistant"):  # the whole text of the step
                        print(event["content"][len(shown) :], end="", flush=True)
                        shown = event["content"] if event["type"] == "partial" else ""
                    elif event["type"] == "attempt":  # what came of the step is void
                        shown = ""
                    ended = event["type"] == "turn_finished"
        except httpx.TransportError as error:
            print(f"The connection broke: {error}", file=sys.stderr)
        time.sleep(0 if ended else events.retry_s)
