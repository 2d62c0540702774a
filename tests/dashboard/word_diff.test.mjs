import assert from "node:assert/strict";
import { test } from "node:test";
import { wordDiff } from "../../service/web/dashboard/views/readings/word_diff.js";

const without = (changes, kind) =>
  changes
    .filter((change) => change.kind !== kind)
    .map(({ text }) => text)
    .join("");
const marked = (before, after) =>
  wordDiff(before, after)
    .map(({ kind, text }) => (kind === "same" ? text : kind === "added" ? `+(${text})` : `-(${text})`))
    .join("");

/** Numbers below 1 that are the same in each run. */
function numbers(seed) {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

const PIECES = ["key", "the", "under", "Mat", "naïve", "日本", "🚀", "e\u0301", "\ud800", " ", " ", "  ", "\n", "\t", ";", "-", "7_a"];

function someText(random) {
  const length = Math.floor(random() * 14);
  return Array.from({ length }, () => PIECES[Math.floor(random() * PIECES.length)]).join("");
}

/** A text of which a part was taken out and another put in. */
function changedText(text, random) {
  const from = Math.floor(random() * text.length);
  const to = from + Math.floor(random() * (text.length - from));
  return text.slice(0, from) + someText(random) + text.slice(to);
}

test("kept and added words are the new text, kept and removed ones the old, of any two texts", () => {
  for (let seed = 1; seed <= 2000; seed += 1) {
    const random = numbers(seed);
    const before = someText(random);
    const after = seed % 2 ? someText(random) : changedText(before, random);
    const changes = wordDiff(before, after);

    const shown = JSON.stringify([seed, before, after, changes]);
    assert.equal(without(changes, "removed"), after, shown);
    assert.equal(without(changes, "added"), before, shown);
    assert.ok(changes.every(({ text }) => text !== ""), shown);
    const kinds = changes.map(({ kind }) => kind);
    assert.ok(kinds.every((kind, at) => kind !== kinds[at + 1]), shown);
  }
});

test("texts that are the same have no changes", () => {
  assert.deepEqual(wordDiff("The key is here.", "The key is here."), [{ kind: "same", text: "The key is here." }]);
  assert.deepEqual(wordDiff("", ""), []);
});

test("only the words that changed are marked", () => {
  assert.equal(marked("", "a b"), "+(a b)");
  assert.equal(marked("a b", ""), "-(a b)");
  assert.equal(marked("KEY under 1;", "KEY under 1;KEY under 3;"), "KEY under 1;+(KEY under 3;)");
  assert.equal(marked("The key is old.", "The key is new."), "The key is -(old)+(new).");
});

test("neighbours that changed read in one piece", () => {
  assert.equal(marked("It was a grey horse", "It was the white horse"), "It was -(a grey)+(the white) horse");
});

test("texts too long to compare word by word are told as taken out and put in whole", () => {
  const words = (first) => Array.from({ length: 1000 }, (_, at) => `${first}${at}`).join(" ");
  const changes = wordDiff(`Begin ${words("a")} end`, `Begin ${words("b")} end`);
  assert.deepEqual(
    changes.map(({ kind }) => kind),
    ["same", "removed", "added", "same"],
  );
  assert.equal(without(changes, "removed"), `Begin ${words("b")} end`);
});
