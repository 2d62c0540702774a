"""Fixtures of the adapters' tests."""

import pytest
import respx

from tests.adapters.llama_routes import URL


@pytest.fixture
def router() -> respx.MockRouter:
    """llama-server's routes, without a network; a request to any other is an error."""
    return respx.MockRouter(base_url=URL, assert_all_called=False)
