"""Identifiers as distinct types, so that a turn's id can't stand where a session's belongs."""

from __future__ import annotations

from typing import NewType

SessionId = NewType("SessionId", str)
"""`ses_…`, sortable by creation."""

TurnId = NewType("TurnId", str)
"""`trn_…`, sortable by creation."""

ReadingId = NewType("ReadingId", str)
"""`rdg_…`, sortable by creation."""

OwnerId = NewType("OwnerId", str)
"""Who a session or a reading belongs to (K3)."""

LOCAL_OWNER = OwnerId("local")
"""The one owner of a service without API keys."""
