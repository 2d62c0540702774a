"""`docs/howto/verify-tool-port-requests.md` is executed: each snippet judges requests that the adapter has signed."""

from __future__ import annotations

import asyncio
import base64
import json
import re
import shutil
import sys
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from service.adapters.tools import RequestSigner
from service.config import load_settings

pytestmark = [pytest.mark.anyio, pytest.mark.rules("X5")]

HOWTO = Path(__file__).parents[2] / "docs/howto"
PAGE = (HOWTO / "verify-tool-port-requests.md").read_text(encoding="utf-8")
SNIPPETS = HOWTO / "snippets/verify"
BOUND_S = 50

SECRET = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="
OTHER_SECRET = "whsec_Zm9yIGEgcG9ydCB0aGF0IGlzIG5vdCB0aGlzIG9uZS4u"
BODY = '{"tool":"get_weather","arguments":{"city":"Köln \u2028 \U0001f600"}}'.encode()


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A request, and whether it is Turnkeeper's."""

    name: str
    headers: dict[str, str]
    body: bytes = BODY
    secret: str = SECRET
    good: bool = False

    @property
    def line(self) -> str:
        body = base64.b64encode(self.body).decode()
        return json.dumps({"secret": self.secret, "headers": self.headers, "body": body}) + "\n"


def signed(body: bytes = BODY, *, seconds_ago: int = 0) -> dict[str, str]:
    signer = RequestSigner(SECRET, now=lambda: datetime.now(UTC) - timedelta(seconds=seconds_ago))
    return signer.headers(body, request_id="ses_1/7")


def cases() -> list[Case]:
    headers = signed()
    other = RequestSigner(OTHER_SECRET, now=lambda: datetime.now(UTC)).headers(BODY, request_id="ses_1/7")
    wrong = other["webhook-signature"]
    right = headers["webhook-signature"]

    def changed(name: str, value: str) -> Case:
        return Case(name=f"{name}: {value[:20]}", headers=headers | {name: value})

    return [
        Case(name="right", headers=headers, good=True),
        Case(name="right without padding", headers=headers, secret=SECRET.rstrip("="), good=True),
        Case(name="the list", headers=signed(b""), body=b"", good=True),
        Case(name="4 minutes old", headers=signed(seconds_ago=240), good=True),
        Case(name="4 minutes ahead", headers=signed(seconds_ago=-240), good=True),
        Case(name="a second one is right", headers=headers | {"webhook-signature": f"{wrong} {right}"}, good=True),
        Case(name="another body", headers=headers, body=BODY + b" "),
        Case(name="no body", headers=headers, body=b""),
        Case(name="another secret", headers=headers, secret=OTHER_SECRET),
        Case(name="6 minutes old", headers=signed(seconds_ago=360)),
        Case(name="6 minutes ahead", headers=signed(seconds_ago=-360)),
        changed("webhook-id", "ses_1/8"),
        changed("webhook-timestamp", str(int(headers["webhook-timestamp"]) + 1)),
        changed("webhook-timestamp", "soon"),
        changed("webhook-timestamp", "9" * 5_000),
        changed("webhook-timestamp", "-" + headers["webhook-timestamp"]),
        changed("webhook-signature", wrong),
        changed("webhook-signature", right.replace("v1,", "v2,")),
        changed("webhook-signature", right.removeprefix("v1,")),
        changed("webhook-signature", "v1,"),
        changed("webhook-signature", "v1,AAAA"),
        changed("webhook-signature", "v1,ä"),
        changed("webhook-signature", right[:-8]),
        *(
            Case(name=f"no {name}", headers={key: value for key, value in headers.items() if key != name})
            for name in headers
        ),
    ]


async def verdicts(*command: str | Path, asked: list[Case], folder: Path) -> dict[str, bool]:
    """Run a driver that reads a case a line and writes a verdict a line."""
    process = await asyncio.create_subprocess_exec(
        *map(str, command),
        cwd=folder,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(BOUND_S):
            told, errors = await process.communicate("".join(case.line for case in asked).encode())
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode == 0, errors.decode()
    return dict(zip((case.name for case in asked), (line == "true" for line in told.decode().split()), strict=True))


def expected(asked: list[Case]) -> dict[str, bool]:
    return {case.name: case.good for case in asked}


PYTHON_DRIVER = """
import base64, json, sys
from {module} import is_from_turnkeeper
for line in sys.stdin:
    case = json.loads(line)
    body = base64.b64decode(case["body"])
    print(json.dumps(is_from_turnkeeper(case["secret"], case["headers"], body)))
"""


@pytest.mark.parametrize("module", ["with_library", "without_library"])
async def test_the_python_snippets_tell_turnkeepers_requests_from_others(module: str, tmp_path: Path) -> None:
    shutil.copy(SNIPPETS / f"{module}.py", tmp_path)
    driver = tmp_path / "driver.py"
    driver.write_text(PYTHON_DRIVER.format(module=module), encoding="utf-8")
    asked = cases()

    assert await verdicts(sys.executable, driver, asked=asked, folder=tmp_path) == expected(asked)


NODE_DRIVER = """
import { readFileSync } from "node:fs";
import { isFromTurnkeeper } from "./verify.mjs";
for (const line of readFileSync(0, "utf8").trim().split("\\n")) {
  const { secret, headers, body } = JSON.parse(line);
  console.log(isFromTurnkeeper(secret, headers, Buffer.from(body, "base64")));
}
"""


async def test_the_javascript_snippet_tells_turnkeepers_requests_from_others(tmp_path: Path) -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("there is no node")
    shutil.copy(SNIPPETS / "verify.mjs", tmp_path)
    (tmp_path / "driver.mjs").write_text(NODE_DRIVER, encoding="utf-8")
    asked = cases()

    assert await verdicts(node, "driver.mjs", asked=asked, folder=tmp_path) == expected(asked)


GO_DRIVER = """
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
)

func main() {
	lines := json.NewDecoder(os.Stdin)
	for {
		var asked struct {
			Secret  string
			Headers map[string]string
			Body    []byte
		}
		if err := lines.Decode(&asked); err == io.EOF {
			return
		} else if err != nil {
			panic(err)
		}
		headers := http.Header{}
		for name, value := range asked.Headers {
			headers.Set(name, value)
		}
		fmt.Println(IsFromTurnkeeper(asked.Secret, headers, asked.Body))
	}
}
"""


async def test_the_go_snippet_tells_turnkeepers_requests_from_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go = shutil.which("go")
    if go is None:
        pytest.skip("there is no go")
    for name, value in {"GOCACHE": str(tmp_path / "cache"), "GO111MODULE": "off", "GOTOOLCHAIN": "local"}.items():
        monkeypatch.setenv(name, value)
    shutil.copy(SNIPPETS / "verify.go", tmp_path)
    (tmp_path / "driver.go").write_text(GO_DRIVER, encoding="utf-8")
    asked = cases()

    assert await verdicts(go, "run", "verify.go", "driver.go", asked=asked, folder=tmp_path) == expected(asked)


def test_the_page_shows_the_files_that_are_run() -> None:
    shown = re.findall(r"^```(?:python|javascript|go)\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)

    assert sorted(shown) == sorted(file.read_text(encoding="utf-8") for file in SNIPPETS.iterdir() if file.is_file())


def test_each_snippet_compares_in_constant_time() -> None:
    comparison = {"with_library.py": ".verify(", "without_library.py": "hmac.compare_digest"}
    comparison |= {"verify.mjs": "timingSafeEqual(", "verify.go": "hmac.Equal"}

    for name, call in comparison.items():
        assert call in (SNIPPETS / name).read_text(encoding="utf-8")


async def test_the_line_that_makes_a_secret_makes_one_that_the_settings_take() -> None:
    if shutil.which("openssl") is None or shutil.which("sh") is None:
        pytest.skip("there is no openssl")
    (line,) = re.findall(r"^echo .*$", PAGE, re.MULTILINE)
    process = await asyncio.create_subprocess_exec("sh", "-c", line, stdout=asyncio.subprocess.PIPE)
    async with asyncio.timeout(BOUND_S):
        made, _ = await process.communicate()
    secret = made.decode().strip()

    found = await asyncio.to_thread(load_settings, tool_port_secret=secret)
    assert found.tool_port_secret is not None
    assert found.tool_port_secret.get_secret_value() == secret
