"""Send a message and print the answer as it comes: python stream.py "Why is the sky blue?"."""

import os
import sys

import httpx
from events import Events

URL = os.environ.get("TURNKEEPER_URL", "http://127.0.0.1:8000")

# A quiet stream gets a comment every 15 s: one that brings nothing for longer is broken.
with httpx.Client(base_url=URL, timeout=60) as http:
    session = http.post("/sessions", json={}).raise_for_status().headers["Location"]
    with http.stream("POST", f"{session}/turns", json={"content": sys.argv[1]}) as response:
        response.raise_for_status()
        for event in Events().of(response):
            if event["type"] == "content":
                print(event["text"], end="", flush=True)
            elif event["type"] == "retrying":
                print("\n(That broke off. Once more:)")
            elif event["type"] == "turn_finished":
                print(f"\n[{event['outcome']}]")
