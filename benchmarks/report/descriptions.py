"""What each benchmark does, in a paragraph of the page.

Above: the page. Below: nothing.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Description:
    """A heading, and how the figures below it were made."""

    heading: str
    text: str


DESCRIPTIONS = {
    "paced": Description(
        heading="Streams at the pace of a model",
        text="""\
So many streams are open at the same time, each of 50 tokens per second, and their ticks are spread at random, in the
same way for each subject. When all have their first token, the CPU time of the server and the way of each token, from
its sending by the upstream to its arrival at the client, are taken for some seconds. The row `direct` is the upstream
itself without a server before it: its latency is what the machine and the client take.""",
    ),
    "flood": Description(
        heading="Streams without a pace",
        text="""\
Clients ask for answers of 1000 tokens, one after the other, and the upstream sends as fast as its socket takes. The
client and the upstream share the other core and can be the narrowest place; `direct` shows what they reach alone.""",
    ),
    "short_turns": Description(
        heading="Short turns",
        text="""\
Clients have turns of 16 tokens without a pace, one after the other, so that what comes around the tokens counts:
connections, parsing, the store. Each turn has a connection of its own. With Turnkeeper each turn is the first of a new
session, whose creation counts as well, with the durable log on (SQLite, WAL, `synchronous=FULL`); peers that keep
sessions begin a new one too.""",
    ),
    "first_token": Description(
        heading="The first token, unloaded",
        text="""\
One client, one turn at a time, of one token: from the sending of the request to the first token. The session of a turn
exists before.""",
    ),
    "memory": Description(
        heading="Memory of an open stream",
        text="""\
A server that has just been started gets streams that wait for their first token. Its memory (the proportional share of
all its processes) is read when they are open; the figure is the slope, so that what is loaded once doesn't count.""",
    ),
    "most_streams": Description(
        heading="The most streams that one core serves",
        text="""\
The number of streams of 50 tokens per second is doubled, and then halved in between, until the greatest one is known at
which at least 98 % of the tokens come, and 99 % of them within 50 ms of their sending. The row `direct` is what the
client and the upstream, both on the other core, are able to do.""",
    ),
    "cache": Description(
        heading="The prompt cache of a real llama-server",
        text="""\
Conversations take turns on a real llama-server with a small model, with fewer slots than conversations. What the server
says that it evaluated is compared with what was new in the prompt; the rest was evaluated again and need not have been.
The naive clients send the same messages themselves: one appends only, one writes the time into its system prompt, one
keeps the last messages only.""",
    ),
    "reading": Description(
        heading="A long text, read chunk by chunk",
        text="""\
Two loops read the same text on a real llama-server with a small model, until each has answered one question. Both read
the same chunks to the last one. Turnkeeper's gated reading asks at each chunk whether something is to be noted; the
other loop writes its whole memory anew at each chunk, always in the same words, which is its best case for the cache.
The replies are dictated, token by token, as a model would write them that does as it is told: yes at the one chunk with
the answer, and memories of the same size in both loops. The server evaluates and samples all of these tokens, and
counts the tokens and its own time itself; a dictated token takes it longer than a free one, which favours the gates a
little. So the figures are what the gates save where a model obeys them. What a real model writes, and whether it obeys
or answers right, is not shown by them. It is one small size, read once; [Readings](readings.md) has others.""",
    ),
    "growth": Description(
        heading="How cost grows",
        text="""\
The same turns in sessions with logs of different lengths, in stores with different numbers of sessions, and with
different numbers of followers of one session. The upstream is the fake one.""",
    ),
    "log": Description(
        heading="The store alone",
        text="""\
The store of the service (SQLite) in the process that measures, without the service before it: many appenders at once,
one appender alone, and a long session read as a whole.""",
    ),
    "startup": Description(
        heading="The start",
        text="""\
From the start of the process to the first answer, on stores of different sizes; and the command line for a word.""",
    ),
}
