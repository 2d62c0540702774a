"""Ask a URL until it answers 200, within a bound."""

import asyncio
import urllib.error
import urllib.request

ASK_EVERY_S = 0.2
ANSWER_WITHIN_S = 2.0
LONGEST_ANSWER_BYTES = 2000

# Proxies of the environment are for the outside world, not for a server on this machine.
_direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class NeverReady(Exception):
    """The URL didn't answer 200 within the bound; the message says what it answered last."""


async def wait_until_ready(url: str, *, within_s: float, every_s: float = ASK_EVERY_S) -> None:
    """Return when the URL answers 200.

    Raises:
        NeverReady: it didn't within the bound.
    """
    last = "no answer"
    try:
        async with asyncio.timeout(within_s):
            while True:
                last = await asyncio.to_thread(_ask, url)
                if not last:
                    return
                await asyncio.sleep(every_s)
    except TimeoutError as error:
        raise NeverReady(f"{url} was not ready within {within_s:g} s; it answered last: {last}") from error


def _ask(url: str) -> str:
    """Return what is wrong, or nothing."""
    try:
        with _direct.open(url, timeout=ANSWER_WITHIN_S):
            return ""
    except urllib.error.HTTPError as answer:
        with answer:
            body = answer.read(LONGEST_ANSWER_BYTES).decode(errors="replace")
        return f"{answer.code} {' '.join(body.split())}"
    except OSError as error:
        return f"no answer ({error})"
