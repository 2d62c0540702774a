"""Send a message once, with an API key, however often it has to be tried: python keyed.py "Pay the bill."."""

import os
import sys
import time
import uuid

import httpx

URL = os.environ.get("TURNKEEPER_URL", "http://127.0.0.1:8000")
HEADERS = {"Authorization": f"Bearer {os.environ['TURNKEEPER_API_KEY']}", "Accept": "application/json"}


def post_once(http: httpx.Client, path: str, body: dict[str, str]) -> httpx.Response:
    """Send it again with the same key when no answer came: what was begun is not begun twice."""
    key = {"Idempotency-Key": str(uuid.uuid4())}
    for wait_s in (1, 2, 4, 8):
        try:
            return http.post(path, json=body, headers=key).raise_for_status()
        except httpx.TransportError:
            time.sleep(wait_s)
    return http.post(path, json=body, headers=key).raise_for_status()


with httpx.Client(base_url=URL, headers=HEADERS, timeout=httpx.Timeout(60, read=None)) as http:
    session = post_once(http, "/sessions", {}).headers["Location"]
    turn = post_once(http, f"{session}/turns", {"content": sys.argv[1]}).json()
    print(turn["outcome"], turn["content"])
