"""Answering a question over text that is longer than the context: the gated reading and its rivals."""
