"""Ask a person before a call runs: python approve.py "Close the road."."""

import os
import sys

import httpx

URL = os.environ.get("TURNKEEPER_URL", "http://127.0.0.1:8000")
JSON = {"Accept": "application/json"}

with httpx.Client(base_url=URL, headers=JSON, timeout=httpx.Timeout(60, read=None)) as http:
    session = http.post("/sessions", json={}).raise_for_status().headers["Location"]
    turn = http.post(f"{session}/turns", json={"content": sys.argv[1]}).raise_for_status().json()
    while turn["state"] == "awaiting_approval":
        decisions = []
        for call in turn["pending"]:
            print(f"{call['title']}: {call['name']} {call['arguments']} ({call['reason']})")
            approved = input("Run it? [y/N] ") == "y"
            decisions.append({"call": call["call"], "digest": call["digest"], "approved": approved})
        path = f"{session}/turns/{turn['id']}/decisions"
        turn = http.post(path, json={"decisions": decisions}).raise_for_status().json()
    print(turn["outcome"], turn["content"])
