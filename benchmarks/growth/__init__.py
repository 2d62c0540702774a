"""How cost grows with the length of a log, the number of sessions, and the followers of one session."""
