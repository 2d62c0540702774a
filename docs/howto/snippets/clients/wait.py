"""Send a message and wait for the whole turn: python wait.py "Why is the sky blue?"."""

import os
import sys

import httpx

URL = os.environ.get("TURNKEEPER_URL", "http://127.0.0.1:8000")
JSON = {"Accept": "application/json"}

# Nothing comes before the turn has ended, however long that takes.
with httpx.Client(base_url=URL, timeout=httpx.Timeout(60, read=None)) as http:
    session = http.post("/sessions", json={}).raise_for_status().headers["Location"]
    answer = http.post(f"{session}/turns", json={"content": sys.argv[1]}, headers=JSON)
    turn = answer.raise_for_status().json()
    print(turn["outcome"], turn["content"])
