"""The store in memory: for tests and for runs that may forget everything.

`log.py` keeps the promises of `SessionLog`, `kept.py` is what it keeps; `readings.py` keeps those of `ReadingLog`;
`shared.py` is what both share.
"""

from service.adapters.log_memory.log import MemoryLog

__all__ = ["MemoryLog"]
