"""`calculate`: right values, clear failures, and nothing that runs for long or runs code."""

import pytest

from service.example_port.calculator import MAX_CHARACTERS
from tests.example_port.port_client import PortClient

pytestmark = [pytest.mark.anyio, pytest.mark.rules("X5")]


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("2+3*4", "14"),
        (" (2 + 3) * 4 ", "20"),
        ("7/2", "3.5"),
        ("7//2", "3"),
        ("-7 % 3", "2"),
        ("2**-1", "0.5"),
        ("--+1", "1"),
        ("0.1+0.2", "0.3"),
        ("1e20", "1e+20"),
        ("9007199254740993", "9007199254740993"),
        ("sqrt(2)**2", "2"),
        ("abs(-3) + round(2.6)", "6"),
        ("pi", "3.14159265358979"),
        ("2**4095 // 2**4095", "1"),
        ("0x10 + 1_000", "1016"),
    ],
)
async def test_arithmetic_has_its_value(port: PortClient, expression: str, value: str) -> None:
    assert await port.call("calculate", {"expression": expression}) == {"status": "result", "content": value}


@pytest.mark.parametrize(
    ("expression", "told"),
    [
        ("1/0", "division by zero"),
        ("0**-1", "division by zero"),
        ("1 % 0", "division by zero"),
        ("9**9**9", "too big"),
        ("2**4096", "too big"),
        ("(-3)**-99999999", "too big"),
        ("2**4000*2**4000", "too big"),
        ("1e308*10", "finite"),
        ("1e999", "finite"),
        ("10.0**400", "finite"),
        ("10**400/3", "finite"),
        ("(-1)**0.5", "real number"),
        ("sqrt(-1)", "finite real number"),
        ("round(5, -1000000000)", "isn't supported"),
        ("2^10", "use numbers"),
        ("1,000", "isn't supported"),
        ("True", "isn't supported"),
        ("1j", "isn't supported"),
        ("'a'*9", "isn't supported"),
        ("x", "isn't supported"),
        ("__import__('os').system('true')", "isn't supported"),
        ("(lambda: 1)()", "isn't supported"),
        ("[1 for _ in range(9)]", "isn't supported"),
        ("abs.__class__", "isn't supported"),
        ("abs(x=1)", "isn't supported"),
        ("", "no arithmetic"),
        ("2 +", "no arithmetic"),
        ("x = 1", "no arithmetic"),
        ("1\x00", "no"),
        ("(" * 100 + "1" + ")" * 99, "no arithmetic"),
    ],
)
async def test_what_has_no_value_fails_with_the_reason(port: PortClient, expression: str, told: str) -> None:
    answer = await port.call("calculate", {"expression": expression})
    assert answer["status"] == "failed"
    assert told in answer["message"]


async def test_an_expression_at_the_length_limit_is_worked_out(port: PortClient) -> None:
    answer = await port.call("calculate", {"expression": "1" + "+" * (MAX_CHARACTERS - 2) + "1"})
    assert answer == {"status": "result", "content": "2"}


async def test_a_longer_expression_fails(port: PortClient) -> None:
    answer = await port.call("calculate", {"expression": "1" * (MAX_CHARACTERS + 1)})
    assert answer == {"status": "failed", "message": "the expression is longer than 200 characters"}
