"""Conversations in which people are asked: by a tool's spec, and by the tool port itself (A1, A1b)."""

from __future__ import annotations

from tests.crashes.kill_points import KillPoint
from tests.crashes.scripts import CUT_SHORT, Scenario, call, in_turn
from tests.crashes.watched_fakes import CHANGED, DENIED

APPROVALS = {
    "two calls that people decide on, beside one that needs nobody": Scenario(
        script=in_turn((call("pay", 1), call("renew", 2), call("look", 3)), (call("look", 4),))
    ),
    "a call that is denied, and one that is changed": Scenario(
        script=in_turn(
            (
                call("pay", 1, f'{{"number": 1, "note": "{DENIED}"}}'),
                call("renew", 2, f'{{"number": 2, "note": "{CHANGED}"}}'),
            )
        )
    ),
    "calls that the port asks about": Scenario(script=in_turn((call("order", 1), call("look", 2)), (call("book", 3),))),
    "a turn that is cancelled while people are waited for": Scenario(
        script=in_turn((call("pay", 1), call("look", 2))),
        held=KillPoint("waiting", 1),
        cancels=True,
        outcomes=(CUT_SHORT,),
    ),
}
