"""Reads documents: performs what the machine of a reading says, appends, then publishes (DESIGN section 12)."""
