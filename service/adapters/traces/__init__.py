"""Spans for OpenTelemetry: each turn as `invoke_agent`, with its `chat` and `execute_tool` below it.

From the top down:

    provider.py     what keeps and sends spans, by the settings
    tracer.py       the port `Tracer`: where a span hangs, and what is known when it begins
    spans.py        what is said of one when it ends
    messages.py     prompts and answers in the form of the conventions, for those who ask for them
    names.py        the names of the conventions
    own_ids.py      the ids of traces that begin here

Nothing but these files imports the library, which is an extra: who asks for no traces need not have it.
"""
