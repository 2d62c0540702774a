"""What a person is told when the service does not do what a command asked of it."""

from __future__ import annotations

from http import HTTPStatus

from service.core.api_keys import SENT_KEY_VARIABLE
from service.core.errors import ProblemCode
from service.core.visible import visible
from service.ports.running_service import ServiceRefused, ServiceTrouble

_SHOWN = 2000


def refusal_in_words(trouble: ServiceTrouble) -> str:
    """Say in one visible line what is wrong; of a key that is missing or wrong, also where it is taken from."""
    words = visible(str(trouble), _SHOWN)
    if isinstance(trouble, ServiceRefused) and trouble.status == HTTPStatus.UNAUTHORIZED:
        return f"no API key, or a wrong one: set {SENT_KEY_VARIABLE}, or say --api-key-file ({words})"
    return words


def is_about_scopes(trouble: ServiceTrouble) -> bool:
    """Say whether a key was refused that is good, but not for this; the service's words name the scope."""
    return isinstance(trouble, ServiceRefused) and trouble.code == ProblemCode.FORBIDDEN and "scope" in str(trouble)
