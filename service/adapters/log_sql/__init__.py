"""The store in a database: sessions, readings and what belongs to them through SQLAlchemy Core (S1, S2, S3).

From the top down:

    log.py            the `SessionLog`: hands writes to the writer and reads to the readers
    reading_log.py    the `ReadingLog`, in the same way
    writer.py         the one writer thread; group_commit.py commits what it gathers
    transaction.py    the writes of one group before their commit; reading_writes.py those of readings
    log_transaction.py  what both do to a log; prepared.py runs the frequent statements
    reader.py         the reader threads
    queries.py        what they ask; families.py asks of a session and its children, reading_queries.py of readings
    rows.py           turns rows into values
    tables.py         the tables; migrations/ makes them
    migrate.py        brings a database to this version's schema
    sqlite_store.py   all that is SQLite's own where it is opened; sqlite_files.py its files and its lock
    audit.py          the store as whoever checks it sees it, without its lock; sqlite_reading.py opens it
    backup.py, restore.py  a checked copy out of the store, and back into its place; copy_check.py is the check,
                      sqlite_copy.py copies, sqlite_swap.py puts a copy in place
    failures.py       a driver's error becomes a StoreFailure
"""

from service.adapters.log_sql.log import SqlLog, open_sql_log

__all__ = ["SqlLog", "open_sql_log"]
