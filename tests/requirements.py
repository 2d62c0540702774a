"""What the service promises, a sentence for each rule, and which rules aren't whole yet.

A test names the rules that it covers: `@pytest.mark.rules("T4", "L5")`. Both directions are checked by
`tests/architecture/test_requirements.py`. A known gap may have tests all the same: they cover the part
that is built.
"""

RULES = {
    # HTTP
    "H1": "A turn is answered as an event stream, as JSON at its end, or at once with its address.",
    "H2": "What can be refused is refused with problem+json before work starts; later failures are events.",
    "H3": "A repeated Idempotency-Key gives the first answer again, and with another body it is refused.",
    "H4": "A session runs one turn at a time; a second is refused, queued or interrupts, as on_busy says.",
    "H5": "A client that goes away doesn't end the turn, unless it asked for that.",
    "H6": "A stream is resumed from the log by pos: no gap, no duplicate, no window.",
    "H7": "A slow reader costs bounded memory and is dropped in the end.",
    "H8": "SIGTERM drains running turns for a bounded time and loses nothing.",
    "H9": "Deleting a session stops what runs and removes all that belongs to it.",
    "H10": "A fork is a new session with the same baseline and the records before a turn.",
    # The turn loop
    "T1": "A turn starts with its user record and takes steps until it has an outcome.",
    "T2": "A step asks the model once; a failed request leaves nothing in the log but its attempt and usage.",
    "T3": "A completion is appended as assistant and usage, and a lost cache as cache_loss.",
    "T4": "The finish reason decides whether an answer is whole and whether its calls may run.",
    "T5": "The number of batches in a turn is bounded, and conclude ends with an answer instead of a stop.",
    "T6": "Each call of a batch has a number and exactly one disposition, the first that fits.",
    "T7": "A call that repeats an earlier one isn't run again, and a second repeat ends the turn.",
    "T8": "Calls of a batch run at the same time, and the model sees their results in call order.",
    "T9": "A long result is cut between characters, keeps head and tail, and stays readable in full.",
    "T10": "Bad arguments and unknown tools become results, never exceptions.",
    "T11": "An empty answer is asked for once more and then fails the turn.",
    "T12": "Limits are counted from the log by pure code, and their messages name limit and setting.",
    "T13": "Cancel works in each state, and a turn that ends leaves no call without a result.",
    "T14": "Usage is summed over a turn and over its session, discarded completions too.",
    # The llama client
    "L1": "Every request asks for a stream with progress, usage, pings and a bound on tokens.",
    "L2": "The wait for the first byte is judged by what the server's slots say, not by one deadline.",
    "L3": "An error status keeps its text, and a prompt that is too long is told apart.",
    "L4": "A stream ends in a completion or in one named failure; silence and giant lines are failures.",
    "L5": "Deltas are assembled into content, reasoning and calls, however they are split.",
    "L6": "Thinking is capped for the whole turn, by the server where it can and by the client in the end.",
    "L7": "Waiting for a server isn't retrying; what is tried again, and how often, is a table.",
    "L8": "Leaving a stream in any way closes its connection at once.",
    "L9": "Completions in flight are bounded by the server's slots, first come first served, and none leaks.",
    "L10": "The template's traits are probed, kept with the session and told in plain words.",
    # Prompt and cache
    "P1": "The messages are the baseline and the projection of the log, and nothing else.",
    "P2": "Each prompt of a session begins with the prompt before it, byte for byte.",
    "P3": "Reasoning and tools go back unchanged; calls are forbidden by tool_choice alone.",
    "P4": "Each prompt satisfies the strictest template known.",
    "P5": "Cached tokens are compared with what was expected, and a loss has a reason.",
    "P6": "An untrusted result stands in a fence that its text can't close.",
    "P7": "The fill of the context is known before the model is asked.",
    "P8": "The projection obeys what the session's template can show.",
    # Tool port
    "X1": "Whatever a tool port answers, a call ends in a result.",
    "X2": "A tool port's answer is read with a cap and bounded memory.",
    "X3": "A session's tools are fixed when it is made, in full or behind find_tool and call_tool.",
    "X4": "find_tool ranks by words, and call_tool is treated as the tool inside.",
    "X5": "An example tool port ships with the service and shows how to write one.",
    "X6": "Results carry the higher class and the untrusted mark of what they came from.",
    # Records, store, recovery
    "S1": "Records are appended all or none, at the expected seq, before anyone sees them.",
    "S2": "Each store passes one contract, pos in commit order included; SQLite is the default.",
    "S3": "Each record is hashed over its stored bytes and the hash before it, up to the session's head.",
    "S4": "After a kill at any moment each turn goes on or ends with a reason; no call runs twice unasked.",
    "S5": "A failed write fails its turn visibly and nothing else.",
    "S6": "Logs of every released version stay readable.",
    "S7": "Old sessions can be removed by age.",
    # Approvals
    "A1": "A batch with a call that needs approval waits as a whole.",
    "A1b": "A port may ask for approval of its own call while the others end first.",
    "A2": "A decision is bound to the exact call by its digest; a set of them is taken whole or not at all.",
    "A3": "A denied or expired call has a result that says so.",
    "A4": "A denied action stays denied in its turn under every call id.",
    "A5": "Decisions can be signed, and the signature is checked wherever it matters.",
    "A6": "Pending approvals survive restarts, are listed, and expire.",
    "A7": "After untrusted text, a tool that acts outside needs a human.",
    # Handoff, agents, context
    "G1": "Agent profiles come from a file, are checked at start, and shape new sessions.",
    "G2": "A handoff runs a child session, and its answer comes back as the call's result.",
    "C0": "A message is accepted only when it fits, and each request leaves room for an answer.",
    "C1": "The oldest part of a full context is summarised between or within turns, and the log keeps it.",
    # Readings
    "R1": "A reading takes a question and documents, and its chunks put together are the text.",
    "R2": "A reading's gates, evidence and memories are records, also those not acted on.",
    "R3": "A memory over its budget is never stored and never cut.",
    "R4": "Output that can't be parsed is asked for again and never guessed.",
    "R5": "A chunk's records are appended together, and a reading goes on where it stopped.",
    "R6": "Memories of several documents are read like chunks, by the same loop.",
    "R7": "What comes before the chunk in a reading's prompt stays cached while memory does.",
    "R8": "Verifying a reading checks parents, gates, evidence and sources.",
    "R10": "Model calls of a reading are bounded, and nothing used means not found.",
    "R11": "The exit gate acts only when asked to.",
    # Settings, command line, security
    "D1": "Settings have one order of sources, a unit, a range, and one line when they are wrong.",
    "D2": "The command line has one word for each job and no traceback for a user's mistake.",
    "K1": "A web page of another origin can't make the service do anything.",
    "K2": "Without keys only this machine is served.",
    "K3": "With keys each session has an owner, and others don't see it.",
    "K4": "Outgoing requests go to the configured addresses only.",
    "K5": "Secrets and untrusted text don't get where they do harm.",
}

KNOWN_GAPS: dict[str, str] = {}

CASES = {
    1: "A kill while a tool runs leaves no call without exactly one answer.",
    2: "A turn that ends while calls are open leaves each of them answered, and the next turn succeeds.",
    3: "However many messages come at once, one session asks the model for one of them at a time.",
    4: "A model server that keeps failing ends the turn, and the session takes the next one.",
    5: "A writer that comes late has its records refused, and the log stays whole.",
    6: "A model that fails behind an approved call costs neither the approval nor a second run.",
    7: "An approval is acted on after the process that asked for it has gone.",
    8: "A call that was approved is not asked about again.",
    9: "A child conversation shows the same records live and replayed.",
    10: "A stream that is cut before anything came is resumed by the cursor that the client had.",
    11: "A dashboard that listens to everything sees a turn that somebody else has started.",
    12: "A client that leaves as soon as its message was accepted finds the turn finished and stored.",
    13: "A client that leaves a quiet stream leaves no task behind.",
    14: "A shutdown ends in time with streams open, and each of them gets a last event.",
    15: "Characters that end lines or stand for no text are equal from end to end.",
    16: "Arguments that are no JSON object, or far too long, end in a short result, and the turn goes on.",
    17: "A tool that isn't there is answered with those that are, and the turn ends with text.",
    18: "An empty answer is asked for again, never shown to the model, and in the end a failure with a name.",
    19: "A stream that doesn't end as it should ends the turn all the same.",
    20: "Thought that leaks into the answer is told from it, wherever the stream is cut.",
    21: "In a round of tools each request begins with the bytes of the one before, thoughts included.",
    22: "Over many turns nothing changes in a prompt that was sent once.",
    23: "A compaction loses no call that is open and survives a kill.",
    24: "A repeated key gives the same turn, and with another body it is refused.",
    25: "One write that fails costs one turn, and the next one is kept.",
    26: "A call that is made again and again is seen through every spelling, and ends the turn.",
    27: "A result far longer than the context ends its turn with an outcome and leaves the session usable.",
    28: "A thought without an end is ended, and an answer or a failure with a name follows.",
}
"""What went wrong in similar systems, a sentence for each kind: a test names them as `@pytest.mark.cases(2)`."""

OPEN_CASES: dict[int, str] = {}
"""Cases that wait for a later part of the product, and for which; such a case may have tests of what is built."""
