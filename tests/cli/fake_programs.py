"""Small programs that stand for the demo's children: ready, never ready, dying, deaf to SIGTERM."""

import sys
from pathlib import Path

from service.cli.demo.plan import Command, Plan

_SERVER = """
import http.server, signal, sys
class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response({status}); self.send_header("Content-Length", "9"); self.end_headers()
        self.wfile.write(b"the store")
{before}
print("listening", flush=True)
http.server.HTTPServer(("127.0.0.1", {port}), Answer).serve_forever()
"""


def ready(port: int, *, holds_open: Path | None = None) -> Command:
    """Answer 200 to everything, with a file held open for writing until the end."""
    before = "" if holds_open is None else f"held = open({str(holds_open)!r}, 'w')"
    return _python("the service", _SERVER.format(status=200, port=port, before=before))


def never_ready(port: int) -> Command:
    """Answer 503 to everything."""
    return _python("the service", _SERVER.format(status=503, port=port, before=""))


def deaf(port: int) -> Command:
    """Answer 200 and ignore SIGTERM."""
    ignoring = "signal.signal(signal.SIGTERM, signal.SIG_IGN)"
    return _python("the service", _SERVER.format(status=200, port=port, before=ignoring))


def dying(name: str, *, says: str, exit_code: int) -> Command:
    """Say something and end."""
    return _python(name, f"import sys; print({says!r}); sys.exit({exit_code})")


def starting(other: Command) -> Command:
    """Start another program and do nothing until ended."""
    start = f"import subprocess, threading; subprocess.Popen({list(other.arguments)!r})"
    return _python(other.name, f"{start}; threading.Event().wait()")


def waiting(name: str) -> Command:
    """Do nothing until ended."""
    return _python(name, "import threading; threading.Event().wait()")


def plan_of(*commands: Command, port: int) -> Plan:
    """Make a plan of these commands, with the service on the port."""
    return Plan(
        commands=commands,
        service_url=f"http://127.0.0.1:{port}",
        llama_url="http://127.0.0.1:1",
        tool_port_url="http://127.0.0.1:2",
    )


def _python(name: str, source: str) -> Command:
    return Command(name=name, arguments=(sys.executable, "-c", source))
