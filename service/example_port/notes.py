"""`add_note`, `list_notes`, `delete_note`, `clear_notes`: tools with effects, and both ways to ask first.

`delete_note` needs approval by its spec. `clear_notes` asks by itself, because only the port knows whether
there is anything to lose. The note that the port keeps for itself shows `denied`.
"""

from service.example_port.tools import Call, Tool, object_schema
from service.port_wire.answers import (
    Answer,
    DataClass,
    Denied,
    Failed,
    JsonObject,
    PendingApproval,
    Result,
)

MAX_NOTES = 100
MAX_CHARACTERS = 1_000  # of one note
KEPT_ID = 1
_NO_ARGUMENTS = object_schema({})


class Notes:
    """Hold the notes in memory, in order of their ids. They end with the process."""

    def __init__(self) -> None:
        self._texts = {KEPT_ID: "Notes live in the memory of the example port and end with it."}
        self._next_id = KEPT_ID + 1

    async def add(self, call: Call) -> Answer:
        """Add a note, unless it is blank, too long, or the store is full."""
        text = call.text("text")
        if not text.strip():
            return Failed(message="a note needs some text")
        if len(text) > MAX_CHARACTERS:
            return Failed(message=f"a note has at most {MAX_CHARACTERS} characters")
        if len(self._texts) >= MAX_NOTES:
            return Failed(message=f"there are already {MAX_NOTES} notes; delete one first")
        note, self._next_id = self._next_id, self._next_id + 1
        self._texts[note] = text
        return Result(content=f"Saved as note {note}.")

    async def list(self, call: Call) -> Answer:
        """List all notes with their ids."""
        notes: list[JsonObject] = [{"id": note, "text": text} for note, text in self._texts.items()]
        return Result(content=notes)

    async def delete(self, call: Call) -> Answer:
        """Delete one note. Whoever reaches this was approved: the spec says so to Turnkeeper (A1)."""
        note = call.integer("id")
        if note == KEPT_ID:
            return Denied(reason=f"note {KEPT_ID} belongs to the port and stays")
        if self._texts.pop(note, None) is None:
            return Failed(message=f"there is no note {note}; the ids are: {', '.join(map(str, self._texts))}")
        return Result(content=f"Deleted note {note}.")

    async def clear(self, call: Call) -> Answer:
        """Delete all notes but the kept one, after a human's approval of this very call (A1b)."""
        doomed = [note for note in self._texts if note != KEPT_ID]
        if doomed and not call.approved:
            return PendingApproval(reason=f"this deletes all notes: {len(doomed)}")
        for note in doomed:
            del self._texts[note]
        return Result(content=f"Deleted all notes: {len(doomed)}.")


def note_tools() -> tuple[Tool, ...]:
    """Give the four note tools over one new store.

    `add_note` may be sent again under its key: the memory of keys and the notes live and end together.
    `delete_note` and `clear_notes` may not: after a restart of the port the same id is another note.
    `list_notes` is `repeatable`, since its answer changes in between, and `internal`: notes are private.
    """
    notes = Notes()
    return (
        Tool(
            name="add_note",
            title="Add a note",
            description="Save a note",
            parameters=object_schema({"text": {"type": "string"}}),
            run=notes.add,
            acts_outside=True,
            idempotent=True,
            timeout_ms=10_000,
        ),
        Tool(
            name="list_notes",
            title="List the notes",
            description="List all notes with their ids",
            parameters=_NO_ARGUMENTS,
            run=notes.list,
            repeatable=True,
            idempotent=True,
            timeout_ms=10_000,
            data_class=DataClass.INTERNAL,
        ),
        Tool(
            name="delete_note",
            title="Delete a note",
            description="Delete the note with this id",
            parameters=object_schema({"id": {"type": "integer"}}),
            run=notes.delete,
            needs_approval=True,
            acts_outside=True,
            timeout_ms=10_000,
        ),
        Tool(
            name="clear_notes",
            title="Delete all notes",
            description="Delete all notes",
            parameters=_NO_ARGUMENTS,
            run=notes.clear,
            acts_outside=True,
            timeout_ms=10_000,
        ),
    )
