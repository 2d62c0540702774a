"""The search for most streams, what runs at the same time, and what the kernel tells of a process."""

from __future__ import annotations

import asyncio
import os

import pytest

from benchmarks.overhead.most_streams import greatest
from benchmarks.overhead.nginx import nginx_configuration
from benchmarks.overhead.subjects import known_subjects
from benchmarks.overhead.together import together
from benchmarks.overhead.usage import cpu_s, memory_kib
from benchmarks.peers import known_peers

pytestmark = [pytest.mark.anyio]


class Server:
    """Serves up to so many streams, and remembers what was tried."""

    def __init__(self, most: int) -> None:
        self.tried: list[int] = []
        self._most = most

    async def serves(self, streams: int) -> bool:
        self.tried.append(streams)
        return streams <= self._most


@pytest.mark.parametrize("most", [0, 1, 7, 99, 100, 101, 430, 777, 1599])
async def test_the_most_streams_are_found_to_a_tenth_and_never_overrated(most: int) -> None:
    server = Server(most)
    found = await greatest(server.serves, first=100, most=1600)

    assert found <= most
    assert most - found <= max(7, most / 10)
    assert len(server.tried) <= 9


async def test_no_more_streams_are_tried_than_allowed() -> None:
    server = Server(10_000)

    assert await greatest(server.serves, first=100, most=1500) == 1500
    assert server.tried == [100, 200, 400, 800, 1500]


async def test_what_fails_first_ends_the_others_and_is_raised_as_it_is() -> None:
    ended: list[str] = []

    async def waits() -> None:
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            ended.append("the other")

    async def fails() -> None:
        await asyncio.sleep(0)
        raise LookupError("no stream")

    with pytest.raises(LookupError, match="no stream"):
        await together([waits(), fails()])
    assert ended == ["the other"]


async def test_what_runs_together_gives_its_values_in_order() -> None:
    async def value(number: int) -> int:
        return number

    assert await together([value(number) for number in range(5)]) == [0, 1, 2, 3, 4]


@pytest.mark.skipif(not os.path.exists("/proc/self/smaps_rollup"), reason="the kernel tells it in /proc")
def test_a_process_has_used_time_and_memory_and_one_that_is_gone_nothing() -> None:
    assert cpu_s(os.getpid()) > 0
    assert memory_kib(os.getpid()) > 1000
    assert (cpu_s(1 << 30), memory_kib(1 << 30)) == (0, 0)


def test_nginx_is_given_the_port_and_the_upstream() -> None:
    written = nginx_configuration(9001, "http://127.0.0.1:8099")

    assert "listen 127.0.0.1:9001 " in written
    assert "server 127.0.0.1:8099;" in written
    assert written.count("{") == written.count("}")


def test_peers_that_are_not_installed_are_left_out_and_said_to_be() -> None:
    said: list[str] = []
    subjects = known_subjects(known_peers(), said.append)
    absent = [peer.name for peer in known_peers() if not peer.is_installed]

    assert [subject.name for subject in subjects if subject.name != "nginx"] == [
        "direct",
        "turnkeeper",
        *(peer.name for peer in known_peers() if peer.is_installed),
    ]
    assert [line.split()[0] for line in said if not line.startswith("nginx")] == absent
