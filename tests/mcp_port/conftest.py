"""What tests of the MCP port share; without the extra `mcp` there is nothing to test."""

import pytest

pytest.importorskip("mcp")
