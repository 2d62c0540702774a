"""`calculate`: arithmetic on a parsed expression. Nothing is ever evaluated as Python code.

A model may send anything, so every step is bounded: the length of the text, and the size of each number.
"""

import ast
import math
import operator
from collections.abc import Callable

from service.example_port.tools import Call, Tool, object_schema
from service.port_wire.answers import Answer, Failed, Result

MAX_CHARACTERS = 200
MAX_BITS = 4096  # of an integer: 1,233 decimal digits, below the 4,300 that Python converts to text

Number = int | float


class CalculationError(Exception):
    """Say why an expression has no value here."""


_NAMES = {"pi": math.pi, "e": math.e}
# One argument each: round(x, -10**9) would be a way around the bound on powers.
_FUNCTIONS: dict[str, Callable[[Number], Number]] = {"abs": abs, "round": round, "sqrt": math.sqrt}
_UNARY: dict[type[ast.unaryop], Callable[[Number], Number]] = {ast.UAdd: operator.pos, ast.USub: operator.neg}


def _power(base: Number, exponent: Number) -> Number:
    """Refuse by the least size of the result before it is computed: 9**9**9 would never end."""
    if isinstance(base, int) and isinstance(exponent, int):
        least_bits = (base.bit_length() - 1) * abs(exponent)
        if least_bits > MAX_BITS:
            raise CalculationError("the power is too big")
    value = base**exponent
    if isinstance(value, complex):
        raise CalculationError("the result isn't a real number")
    return value


_BINARY: dict[type[ast.operator], Callable[[Number, Number], Number]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: lambda left, right: left / right,
    ast.FloorDiv: lambda left, right: left // right,
    ast.Mod: operator.mod,
    ast.Pow: _power,
}


def evaluate(expression: str) -> Number:
    """Give the value of an arithmetic expression.

    Raises:
        CalculationError: it is too long, no arithmetic, or has no finite value of a bounded size.
    """
    if len(expression) > MAX_CHARACTERS:
        raise CalculationError(f"the expression is longer than {MAX_CHARACTERS} characters")
    try:
        return _value(ast.parse(expression.strip(), mode="eval").body)
    except (SyntaxError, RecursionError, MemoryError) as error:
        raise CalculationError("this is no arithmetic expression") from error
    except ZeroDivisionError as error:
        raise CalculationError("division by zero") from error
    except (OverflowError, ValueError) as error:
        raise CalculationError("the result isn't a finite real number") from error


def _value(node: ast.expr) -> Number:
    match node:
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
            return _bounded(number)
        case ast.Name(id=name) if name in _NAMES:
            return _NAMES[name]
        case ast.UnaryOp(op=op, operand=operand) if type(op) in _UNARY:
            return _UNARY[type(op)](_value(operand))
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            return _bounded(_BINARY[type(op)](_value(left), _value(right)))
        case ast.Call(func=ast.Name(id=name), args=[argument], keywords=[]) if name in _FUNCTIONS:
            return _bounded(_FUNCTIONS[name](_value(argument)))
        case _:
            raise CalculationError(
                f"{ast.unparse(node)!r} isn't supported: use numbers, + - * / // % **, brackets, "
                f"{', '.join(_NAMES)}, {', '.join(_FUNCTIONS)}"
            )


def _bounded(value: Number) -> Number:
    if isinstance(value, int):
        if value.bit_length() > MAX_BITS:
            raise CalculationError("a number is too big")
    elif not math.isfinite(value):
        raise CalculationError("the result isn't a finite real number")
    return value


async def _calculate(call: Call) -> Answer:
    try:
        value = evaluate(call.text("expression"))
    except CalculationError as error:
        return Failed(message=str(error))
    # 15 digits are what a double holds for sure: 0.1 + 0.2 reads 0.3. As text: no JSON reader rounds it.
    return Result(content=str(value) if isinstance(value, int) else format(value, ".15g"))


def calculator_tools() -> tuple[Tool, ...]:
    """Give the calculator. It touches nothing, so sending a call twice is harmless: `idempotent`."""
    return (
        Tool(
            name="calculate",
            title="Calculator",
            description="Work out an arithmetic expression such as (2 + 3) * 4",
            parameters=object_schema({"expression": {"type": "string"}}),
            run=_calculate,
            idempotent=True,
            timeout_ms=10_000,
        ),
    )
