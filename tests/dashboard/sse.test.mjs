import assert from "node:assert/strict";
import { test } from "node:test";
import { EventParser } from "../../service/web/dashboard/net/sse.js";
import { NAMES, textOf } from "./recorded.mjs";

/** Read a text in pieces of so many UTF-16 units. */
function read(text, size = text.length || 1) {
  const parser = new EventParser();
  const items = [];
  for (let at = 0; at < text.length; at += size) items.push(...parser.feed(text.slice(at, at + size)));
  return items;
}

function event(data, more = {}) {
  return { id: null, ownId: false, event: "message", data, retry: null, ...more };
}

const COMMENT = { comment: true };
const STREAMS = {
  "fields and their defaults": ["event: a\nid: 7\ndata: {}\n\n", [event("{}", { id: "7", ownId: true, event: "a" })]],
  "one blank behind the colon is left out, not two": ["data:  x\n\ndata:y\n\n", [event(" x"), event("y")]],
  "several lines of data": ["data: a\ndata\ndata: b\n\n", [event("a\n\nb")]],
  "an event without data is none": ["event: a\n\ndata: x\n\n", [event("x")]],
  "an event that does not end is none": ["data: x\n", []],
  "comments show life": [": ping\n\n:\ndata: x\n\n", [COMMENT, COMMENT, event("x")]],
  CRLF: ["data: a\r\ndata: b\r\n\r\n", [event("a\nb")]],
  CR: ["data: a\rdata: b\r\rdata: c\r\r", [event("a\nb"), event("c")]],
  "mixed line ends": ["data: a\r\ndata: b\n\rdata: c\r\n\n", [event("a\nb"), event("c")]],
  "a byte order mark at the beginning alone": [
    "\ufeffdata: a\n\n\ufeffdata: b\n\ndata: c\n\n",
    [event("a"), event("c")],
  ],
  "an id with NUL is passed over": ["id: 1\nid: 2\0\ndata: a\n\n", [event("a", { id: "1", ownId: true })]],
  "an id stays until there is another": [
    "id: 1\ndata: a\n\ndata: b\n\nid\ndata: c\n\n",
    [event("a", { id: "1", ownId: true }), event("b", { id: "1" }), event("c", { id: "", ownId: true })],
  ],
  "retry takes digits alone": [
    "retry: 2000\n\nretry: 1s\n\nretry: 5000\ndata: a\n\n",
    [{ retry: 2000 }, { retry: 5000 }, event("a", { retry: 5000 })],
  ],
  "unknown fields are passed over": ["x: 1\ndata: a\nconstructor: b\n\n", [event("a")]],
  "what some take for a line end is none": ["data: a\u2028b\u0085c\n\n", [event("a\u2028b\u0085c")]],
};

for (const [name, [text, items]] of Object.entries(STREAMS)) {
  test(`${name}, whole and cut anywhere`, () => {
    for (let size = 1; size <= text.length; size += 1) assert.deepEqual(read(text, size), items);
  });
}

test("each recording is the same read whole and one character at a time", () => {
  for (const name of NAMES) {
    const text = textOf(name, "live");
    assert.ok(read(text).filter((item) => "event" in item).length > 3);
    assert.deepEqual(read(text, 1), read(text));
  }
});

test("a long line in small pieces is put together without being searched again", () => {
  const parser = new EventParser();
  let pieces = 0;
  parser.feed("data: ");
  // A search through all that has come would read 400 GB here.
  for (; pieces < 200_000; pieces += 1) assert.equal(parser.feed("twenty characters ..").length, 0);
  const [found] = parser.feed("\n\n");
  assert.equal(found.data.length, pieces * 20);
});
