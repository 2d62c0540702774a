"""Arguments that no tool can be run with, as models have written them and as nobody should."""

from __future__ import annotations

_MEGABYTE = 1024 * 1024

NO_OBJECTS = {
    "nothing": "",
    "white space": " \n\t ",
    "a beginning": "{",
    "an end": "}",
    "null": "null",
    "an array": "[]",
    "a text": '"x"',
    "a number": "1",
    "a boolean": "true",
    "an object in a text": '"{\\"city\\": \\"Rome\\"}"',
    "two objects": '{"city":"Rome"}{"city":"Oslo"}',
    "text behind": '{"city":"Rome"} is what I mean',
    "a trailing comma": '{"city":"Rome",}',
    "a line of Python": "{'city': 'Rome'}",
    "a fence": '```json\n{"city":"Rome"}\n```',
    "a key twice": '{"city":"Rome","city":"Oslo"}',
    "a key twice, deep": '{"a":[{"b":1,"b":2}]}',
    "NaN": '{"city":NaN}',
    "infinity": '{"city":-Infinity}',
    "a number without bounds": '{"city":1e999}',
    "half a character": '{"city":"\\ud83d"}',
    "a control character": '{"city":"a\x00b"}',
    "odd characters": '\u2028\u0085\ufeff\x1b[31m{"city":',
    "nested arrays": "[" * 100_000,
    "nested objects": '{"a":' * 100_000 + "1" + "}" * 100_000,
    "nested a little too deep": '{"a":' * 65 + "1" + "}" * 65,
    "a megabyte of noise": "\U0001f600~\x07" * (_MEGABYTE // 6),
    "a megabyte without an end": '{"city":"' + "x" * _MEGABYTE,
    "a megabyte of keys": "{" + '"k":1,' * (_MEGABYTE // 6) + '"k":1}',
    "a number of a megabyte": '{"city":' + "9" * _MEGABYTE + "}",
}
"""No objects of JSON: the prompt shows `{}` for them."""

WRONG_OBJECTS = {
    "a wrong type": '{"city":1}',
    "an unknown key": '{"town":"Rome"}',
    "very many unknown keys": "{" + ",".join(f'"k{number}":1' for number in range(5_000)) + "}",
    "a megabyte of the wrong type": '{"city":["' + "x" * _MEGABYTE + '"]}',
    "a key of a megabyte": '{"' + "k" * _MEGABYTE + '":1}',
}
"""Objects that the tool's schema does not allow: the prompt shows them as they are."""
