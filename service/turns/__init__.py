"""Runs turns: performs what `core` says, appends, then publishes. Knows ports only, no adapter and no HTTP."""
