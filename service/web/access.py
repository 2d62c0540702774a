"""Which scope a key needs for which operation (K3), as a table: one row for each route, or the app is not made.

Above: the authentication, which asks for each request. Below: the scopes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from fastapi.routing import APIRoute
from starlette.routing import BaseRoute, Match
from starlette.types import Scope

from service.core.callers import Scope as KeyScope

OPEN: frozenset[KeyScope] = frozenset()
"""No key is asked for: what says that the process lives, and the dashboard's page, which asks for a key itself."""

ANY_KEY = frozenset(KeyScope)
"""Also at addresses that lead nowhere: whoever has no key is not told which those are."""

_READ = frozenset({KeyScope.TURNS, KeyScope.APPROVE})
_TURNS = frozenset({KeyScope.TURNS})
_APPROVE = frozenset({KeyScope.APPROVE})
_ADMIN = frozenset({KeyScope.ADMIN})

ACCESS: Mapping[str, frozenset[KeyScope]] = {
    "create_session": _TURNS,
    "list_sessions": _READ,
    "get_session": _READ,
    "update_session": _TURNS,
    "delete_session": _TURNS,
    "get_messages": _READ,
    "start_turn": _TURNS,
    "list_turns": _READ,
    "get_turn": _READ,
    "cancel_turn": _TURNS,
    "compact_session": _TURNS,
    "list_approvals": _READ,
    "decide": _APPROVE,
    "begin_reading": _TURNS,
    "list_readings": _READ,
    "get_reading": _READ,
    "stream_reading_events": _READ,
    "cancel_reading": _TURNS,
    "stream_turn_events": _READ,
    "stream_session_events": _READ,
    "stream_all_events": _READ,
    "list_records": _READ,
    "get_full_result": _READ,
    "list_tools": ANY_KEY,
    "list_agents": ANY_KEY,
    "list_slots": ANY_KEY,
    "get_liveness": OPEN,
    "get_readiness": OPEN,
    "get_metrics": _ADMIN,
    "get_index": OPEN,
    "get_dashboard_file": OPEN,
}
"""For each operation the scopes of which a key needs one."""


class Access:
    """Finds out what a request needs.

    Raises:
        ValueError: a route has no row in the table, or a row no route.
    """

    def __init__(self, routes: Iterable[BaseRoute]) -> None:
        self._routes = tuple(route for route in routes if isinstance(route, APIRoute))
        names = {route.name for route in self._routes}
        if names != set(ACCESS):
            raise ValueError(f"routes and rows of the access table differ: {sorted(names ^ set(ACCESS))}")

    def needed(self, scope: Scope) -> frozenset[KeyScope]:
        """Give the scopes of which a key needs one for a request; none means that no key is asked for."""
        for route in self._routes:
            if route.matches(scope)[0] is Match.FULL:
                return ACCESS[route.name]
        return ANY_KEY
