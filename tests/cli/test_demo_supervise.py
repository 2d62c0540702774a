import asyncio
import os
from pathlib import Path

import pytest

from service.cli.demo.children import Child, Children
from service.cli.demo.plan import Command
from service.cli.demo.supervise import DemoFailed, supervise
from tests.cli import fake_programs

pytestmark = [pytest.mark.anyio, pytest.mark.rules("D2")]

BOUND_S = 20.0


class RecordingChildren(Children):
    """Children whose processes a test can look at."""

    def __init__(self, logs: Path, *, end_within_s: float = BOUND_S) -> None:
        super().__init__(logs, end_within_s=end_within_s)
        self.processes: list[asyncio.subprocess.Process] = []

    async def start(self, command: Command) -> Child:
        child = await super().start(command)
        self.processes.append(child.process)
        return child

    def exit_codes(self) -> list[int | None]:
        return [process.returncode for process in self.processes]


@pytest.fixture
def children(tmp_path: Path) -> RecordingChildren:
    return RecordingChildren(tmp_path / "logs")


def refuse_to_be_ready() -> None:
    raise AssertionError("the demo said that it is ready")


async def until_ready(*commands: Command, port: int, children: Children) -> asyncio.Task[None]:
    ready = asyncio.Event()
    running = asyncio.create_task(
        supervise(fake_programs.plan_of(*commands, port=port), children, ready.set), name="demo"
    )
    async with asyncio.timeout(BOUND_S):
        await ready.wait()
    return running


async def test_ready_is_said_once_the_service_answers_and_ctrl_c_ends_all(
    children: RecordingChildren, free_port: int
) -> None:
    llama, service = fake_programs.waiting("llama-server"), fake_programs.ready(free_port)

    running = await until_ready(llama, service, port=free_port, children=children)
    assert children.exit_codes() == [None, None]
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running

    assert children.exit_codes() == [-15, -15]


async def test_a_child_that_ends_early_is_named_with_the_end_of_its_log(
    children: RecordingChildren, free_port: int
) -> None:
    llama = fake_programs.dying("llama-server", says="no such model", exit_code=3)
    service = fake_programs.never_ready(free_port)

    with pytest.raises(DemoFailed) as failure:
        await supervise(fake_programs.plan_of(llama, service, port=free_port), children, refuse_to_be_ready)

    assert str(failure.value) == "llama-server ended with exit code 3; the end of its log:\n  no such model"
    assert children.exit_codes() == [3, -15]


async def test_a_child_that_is_killed_later_ends_the_rest(children: RecordingChildren, free_port: int) -> None:
    tool_port, service = fake_programs.waiting("the tool port"), fake_programs.ready(free_port)

    running = await until_ready(tool_port, service, port=free_port, children=children)
    os.kill(children.processes[0].pid, 9)
    with pytest.raises(DemoFailed, match=r"^the tool port was ended by SIGKILL"):
        await running

    assert children.exit_codes() == [-9, -15]


async def test_a_service_that_is_never_ready_ends_the_demo_with_its_last_answer(
    children: RecordingChildren, free_port: int
) -> None:
    plan = fake_programs.plan_of(fake_programs.never_ready(free_port), port=free_port)

    with pytest.raises(DemoFailed, match=r"was not ready within 0.5 s; it answered last: ") as failure:
        await supervise(plan, children, refuse_to_be_ready, ready_within_s=0.5)

    assert "The end of the log of the service:" in str(failure.value)
    assert children.exit_codes() == [-15]


async def test_a_child_deaf_to_sigterm_is_killed_after_the_bound(tmp_path: Path, free_port: int) -> None:
    children = RecordingChildren(tmp_path, end_within_s=0.2)

    running = await until_ready(fake_programs.deaf(free_port), port=free_port, children=children)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running

    assert children.exit_codes() == [-9]


@pytest.mark.skipif(os.name != "posix", reason="process groups are POSIX")
async def test_what_a_child_started_ends_with_it(children: RecordingChildren, free_port: int, tmp_path: Path) -> None:
    fifo = tmp_path / "held open by the grandchild"
    os.mkfifo(fifo)
    reading = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    os.set_blocking(reading, True)
    parent = fake_programs.starting(fake_programs.ready(free_port, holds_open=fifo))

    running = await until_ready(parent, port=free_port, children=children)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running

    async with asyncio.timeout(BOUND_S):
        assert await asyncio.to_thread(os.read, reading, 1) == b""
    os.close(reading)
