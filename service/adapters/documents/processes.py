"""The `DocumentReader` of a running service: a process for each document, so that none can harm the service."""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import sys
from asyncio.subprocess import Process
from pathlib import PurePath
from typing import BinaryIO

import structlog

from service.adapters.documents.child import Task, too_much_memory
from service.adapters.documents.frames import HEADER, MAX_FRAME_BYTES, BrokenFrame, FrameKind, parse_header
from service.ports.documents import DocumentText, UnreadableDocument, UploadedFile

log = structlog.get_logger(__name__)

_CHILD = "service.adapters.documents.child"
# What Python needs to start, if it is set. All else may be a secret.
_PASSED_ON = ("LD_LIBRARY_PATH", "PYTHONHOME", "SYSTEMROOT")
# The alarm of a child is for one whose parent is gone; a parent that is there goes first.
_ALARM_AFTER_S = 5.0
_SUFFIX_CHARACTERS = 16


class DocumentProcesses:
    """Reads documents in processes of their own, `at_once` at the same time; further ones wait.

    The bounds are for each document: `timeout_s` from the start of its process, `memory_bytes` of address space
    (where the platform bounds it), `max_text_bytes` of UTF-8 text.
    """

    def __init__(
        self,
        *,
        at_once: int = 2,
        timeout_s: float = 120.0,
        memory_bytes: int = 1 << 30,
        max_text_bytes: int = 64 << 20,
    ) -> None:
        self._free = asyncio.Semaphore(at_once)
        self._timeout_s = timeout_s
        self._memory_bytes = memory_bytes
        self._max_text_bytes = max_text_bytes

    async def read(self, file: UploadedFile) -> DocumentText:
        """Return the text of a file; when the caller is cancelled, its process ends at once.

        Raises:
            UnreadableDocument: there is no text in it, or not within the bounds.
        """
        async with self._free:
            process = await self._start(file)
            try:
                async with asyncio.timeout(self._timeout_s):
                    return await self._text_from(process, file)
            except TimeoutError as error:
                reason = f"took longer than {self._timeout_s:g} s to be read; send it in smaller parts, or its text"
                raise UnreadableDocument(file.name, reason) from error
            finally:
                await _end(process)

    async def _start(self, file: UploadedFile) -> Process:
        source = await asyncio.to_thread(_on_disk, file.content)
        task = Task(
            suffix=PurePath(file.name).suffix[:_SUFFIX_CHARACTERS],
            media_type=file.media_type,
            max_text_bytes=self._max_text_bytes,
            memory_bytes=self._memory_bytes,
            time_s=self._timeout_s + _ALARM_AFTER_S,
        )
        starting = asyncio.create_task(_child(task, source), name="start of a document's process")
        try:
            return await asyncio.shield(starting)
        except asyncio.CancelledError:
            # Between its start and its first await here, a process would belong to nobody.
            with contextlib.suppress(OSError):
                await _end(await starting)
            raise

    async def _text_from(self, process: Process, file: UploadedFile) -> DocumentText:
        try:
            return await self._collected(process, file)
        except (asyncio.IncompleteReadError, BrokenFrame, UnicodeDecodeError) as error:
            raise UnreadableDocument(file.name, too_much_memory(self._memory_bytes)) from error

    async def _collected(self, process: Process, file: UploadedFile) -> DocumentText:
        text = bytearray()
        while True:
            kind, payload = await _next_frame(process)
            match kind:
                case FrameKind.TEXT if len(text) + len(payload) > self._max_text_bytes:
                    raise BrokenFrame("more text than the child was allowed")
                case FrameKind.TEXT:
                    text += payload
                case FrameKind.DONE:
                    return DocumentText(name=file.name, media_type=payload.decode(), text=text.decode())
                case FrameKind.REFUSED:
                    raise UnreadableDocument(file.name, payload.decode())
                case FrameKind.FAILED:
                    log.error("documents.reader_failed", defect=payload.decode(), media_type=file.media_type)
                    raise UnreadableDocument(file.name, "could not be read by a fault of this service; send its text")


def _on_disk(content: BinaryIO) -> int:
    """Return the descriptor of a file; a spooled one goes to the disk for that, with all that was written to it."""
    descriptor = content.fileno()
    content.flush()
    return descriptor


async def _child(task: Task, source: int) -> Process:
    # -P: no module is taken from the folder in which the service happens to run.
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-m", _CHILD, task.as_argument()),
        stdin=source,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=_environment(),
        start_new_session=True,
        limit=MAX_FRAME_BYTES,
    )


def _environment() -> dict[str, str]:
    passed_on = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    return passed_on | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


async def _next_frame(process: Process) -> tuple[FrameKind, bytes]:
    assert process.stdout is not None
    kind, length = parse_header(await process.stdout.readexactly(HEADER.size))
    return kind, await process.stdout.readexactly(length)


async def _end(process: Process) -> None:
    """Kill a process that still runs, and wait for its end."""
    with contextlib.suppress(ProcessLookupError):
        process.kill()
    assert process.stdout is not None
    # The end of a process is only noticed when all that it wrote has been read.
    while await process.stdout.read(MAX_FRAME_BYTES):
        pass
    await process.wait()
