"""The rules of a turn, pure: no await, no clock, no I/O. Everything above may import from here."""
