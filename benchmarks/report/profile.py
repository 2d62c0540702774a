"""What profiles show of where the time goes, and what it would take to reach the targets that are missed.

Words, since a profile is read by a person; to be written anew when the figures above them change much.
"""

from __future__ import annotations

PROFILE = """\
## Where the time goes, and what is out of reach

Looked at with perf, py-spy and the count of calls in `tests/web/test_work_per_token.py` (a token passes 53 calls of
Python's and of C functions, a session with a turn 2,630; before anybody had looked it was 327 and 12,250).

Bounds in µs and ms were set on another machine, whose nginx takes 15.7 µs for a paced token; what this one's takes
stands in the first line. Ratios need no such thought.

- **A token** is one wake-up of the process, one read and one write, as in nginx, and about 30 calls of Python. With 64
  streams a third of its time is the kernel's, three fifths are the interpreter's, and no function has more than a
  fiftieth. With few streams each token finds cold caches, in nginx too, and the same calls take half as long again:
  that is what brings the peers, which make some hundred calls more, nearer. All happens in one callback, from the
  bytes of the chunk to those of the frame; what is left is to have that way compiled.
- **A turn** is three connections, three commits and those 2,630 calls. Of its time a fifth is the kernel's, a quarter
  that of the store's thread (three waits for the disk with their pages; the turns of 16 clients share some), the rest
  the interpreter's; with the store in memory it is a third less. A half is in our own code, a third in uvicorn, asyncio
  and pydantic. It would take fewer commits (the session, the message and the answer are one each, because each is
  answered for by itself), or a second process for the store, or a server that is not Python's.
- **The first token** waits for the message's commit (0.4 ms on a quiet disk, and more beside others that write) and
  for a connection to llama-server (0.2 ms), which is made when the message is on disk. To make it meanwhile was tried:
  on one core it is no earlier, since the commit then waits for the connecting. By the hour it is 1.4 to 1.9 ms on this
  machine, as its disk is."""
