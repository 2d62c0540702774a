"""Why a document has no usable text, inside the child."""

from __future__ import annotations


class Refused(Exception):
    """There is no usable text; the message is a sentence without its subject, which is the file's name."""
