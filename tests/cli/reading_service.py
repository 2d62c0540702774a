"""A service over a real socket whose readings are those of a `ReadingHouse`; uploads are taken as plain text."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from typing import cast

from service.adapters.prometheus import PrometheusMeter
from service.bootstrap import Application
from service.config import Settings
from service.ports.documents import DocumentText, UnreadableDocument, UploadedFile
from service.readings.readings import Readings
from tests.readings.reading_house import ReadingHouse
from tests.web.serving import Served, served_by


class PlainReader:
    """Takes the bytes of a file for its text, and refuses those that have a NUL."""

    def __init__(self) -> None:
        self.files: list[UploadedFile] = []

    async def read(self, file: UploadedFile) -> DocumentText:
        self.files.append(file)
        content = file.content.read()
        if b"\0" in content:
            raise UnreadableDocument(file.name, "is a ZIP archive; unpack it and send the documents in it")
        return DocumentText(name=file.name, media_type="text/plain", text=content.decode())


class HeldReader(PlainReader):
    """Takes documents when it may."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = asyncio.Event()
        self.open = asyncio.Event()

    async def read(self, file: UploadedFile) -> DocumentText:
        self.asked.set()
        await self.open.wait()
        return await super().read(file)


@dataclass
class ReadingApplication:
    """What the routes of readings need of the application."""

    readings: Readings
    documents: PlainReader
    metrics: PrometheusMeter = field(default_factory=PrometheusMeter)

    async def shut_down(self, drain_s: float) -> None:
        await self.readings.shut_down()

    def build(self, settings: Settings) -> AbstractAsyncContextManager[Application]:
        @asynccontextmanager
        async def built() -> AsyncGenerator[Application]:
            # It has what these routes use of the real class, not its type.
            yield cast(Application, self)

        return built()


@asynccontextmanager
async def reading_service(
    house: ReadingHouse, settings: Settings | None = None, documents: PlainReader | None = None
) -> AsyncGenerator[Served]:
    """Serve the readings of this house."""
    application = ReadingApplication(house.readings, documents or PlainReader())
    async with served_by(application.build, settings) as served:
        yield served
    await house.readings.shut_down()
