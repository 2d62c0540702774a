import assert from "node:assert/strict";
import { test } from "node:test";
import { faultOf, parsedArguments, withEscapes } from "../../service/web/dashboard/state/arguments.js";

test("an object is laid out, however it is spaced and its texts are escaped", () => {
  assert.deepEqual(parsedArguments('{ "to" : "bob",\n "deep": {"list": [1, null, true]} }'), {
    to: "bob",
    deep: { list: [1, null, true] },
  });
  assert.deepEqual(parsedArguments('{"caf\\u00e9": "a\\/b  c"}'), { café: "a/b  c" });
  assert.deepEqual(parsedArguments("{}"), {});
});

test("what laying out would lose is left as it was written", () => {
  const lost = {
    "a number that is rounded": '{"account": 12345678901234567890}',
    "a number that is written otherwise": '{"amount": 1.50}',
    "a number beyond all bounds": '{"amount": 1e999}',
    "a minus before nothing": '{"amount": -0}',
    "a name that comes twice": '{"to": "bob", "to": "eve"}',
    "a name that comes twice, once with escapes": '{"to": "bob", "\\u0074o": "eve"}',
    "a name that is a number and would be put first": '{"b": 1, "1": 2}',
  };
  for (const [what, text] of Object.entries(lost)) assert.equal(parsedArguments(text), null, what);
});

test("what is no object is left as it was written", () => {
  for (const text of ["", "null", "[1]", '"text"', "7", "{", '{"a": 1} more']) assert.equal(parsedArguments(text), null);
});

test("a name that is also one of JavaScript's is a name like any other", () => {
  const given = parsedArguments('{"__proto__": {"admin": true}, "constructor": "x"}');
  assert.deepEqual(Object.keys(given), ["__proto__", "constructor"]);
  assert.equal(given.admin, undefined);
});

test("hidden characters are escaped for a field, and the meaning is the same", () => {
  const text = '{"to": "bob\u202egro.elpmaxe\u202c\u200b\u2028\u{e0041}"}';
  const shown = withEscapes(text);
  assert.equal(shown, '{"to": "bob\\u202egro.elpmaxe\\u202c\\u200b\\u2028\\udb40\\udc41"}');
  assert.deepEqual(JSON.parse(shown), JSON.parse(text));
});

test("line ends, tabs and all that can be seen stay as they are in a field", () => {
  const text = '{\n\t"name": "naïve 日本語 🚀",\r\n"n": 1}';
  assert.equal(withEscapes(text), text);
});

test("a text that can run has no fault; all others have one in words", () => {
  assert.equal(faultOf('{"a": 1}'), null);
  assert.equal(faultOf("{}"), null);
  assert.match(faultOf("{"), /^This is no JSON: /);
  assert.match(faultOf(""), /^This is no JSON: /);
  for (const text of ["null", "[]", "7", '"text"']) assert.match(faultOf(text), /^Arguments are a JSON object/);
});
