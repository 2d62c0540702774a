import assert from "node:assert/strict";
import { test } from "node:test";
import * as words from "../../service/web/dashboard/views/readings/words.js";

const DOCUMENTS = [{ name: "a.txt" }, { name: "b\u202e.txt" }];
const CELL = {
  chunk: 1234,
  document: 1,
  state: "waiting",
  update: null,
  exit: null,
  pUpdate: null,
  pExit: null,
  exitRefused: false,
  start: null,
  end: null,
};

test("a probability that is almost 1 doesn't look sure", () => {
  const said = [0, 0.5, 0.984, 0.9949, 0.9951, 0.9994, 0.9996, 0.99999999, 1].map(words.probability);
  assert.deepEqual(said, ["0.00", "0.50", "0.98", "0.99", "0.995", "0.999", "over 0.999", "over 0.999", "1.00"]);
});

test("a gate says what it says and how sure the model was, where that is known", () => {
  assert.deepEqual([words.gate(true, 0.9), words.gate(false, null)], ["yes 0.90", "no"]);
});

test("things are counted in words", () => {
  const said = [0, 1, 2, 1234].map((number) => words.counted(number, "chunk"));
  assert.deepEqual(said, ["0 chunks", "1 chunk", "2 chunks", "1,234 chunks"]);
});

test("documents and passes have names in which nothing is hidden or too long", () => {
  assert.equal(words.documentName(DOCUMENTS, 2), "b\\u202e.txt");
  assert.equal(words.documentName(DOCUMENTS, 3), "document 3");
  assert.equal(words.documentName([{ name: "x".repeat(500) }], 1), `${"x".repeat(80)}…`);
  assert.equal(words.passName({ level: 1, document: 1 }, DOCUMENTS), "1. a.txt");
  assert.equal(words.passName({ level: 1, document: 1 }, [DOCUMENTS[0]]), "a.txt");
  assert.equal(words.passName({ level: 2, document: 0 }, DOCUMENTS), "All documents together");
});

test("a cell says all that it shows", () => {
  assert.equal(words.cellName(CELL, { level: 1 }, DOCUMENTS), "chunk 1,234: not read");
  const used = { ...CELL, chunk: 2, state: "used", update: true, pUpdate: 0.98, exit: true, start: 10, end: 20 };
  const said = "chunk 2: used, update yes 0.98, exit yes, refused, bytes 10 to 20";
  assert.equal(words.cellName({ ...used, exitRefused: true }, { level: 1 }, DOCUMENTS), said);
  const above = "memory of document 2, b\\u202e.txt: being read";
  assert.equal(words.cellName({ ...CELL, document: 2, state: "reading" }, { level: 2 }, DOCUMENTS), above);
});

test("each state of a cell has a name in the legend and one that is read out", () => {
  const said = Object.keys(words.CELL_STATES).map((state) => words.cellName({ ...CELL, state }, { level: 1 }, DOCUMENTS));
  assert.ok(said.every((name) => !name.includes("undefined")));
  assert.equal(new Set(said).size, 7);
});

test("the cells of each state are counted", () => {
  const cells = ["kept", "used", "kept"].map((state) => ({ state }));
  assert.deepEqual(words.countStates(cells), { kept: 2, used: 1 });
  assert.deepEqual(words.countStates([]), {});
});

test("each way to fail says what to do, also one that is not known yet", () => {
  assert.match(words.mendingOf("context_full"), /smaller memory budget/);
  assert.match(words.mendingOf("something_new"), /log/);
});

