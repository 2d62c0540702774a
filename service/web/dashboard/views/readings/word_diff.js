// @ts-check
/** What changed from one text to the next, word by word: enough to see how a memory grew. */

/** Beyond this many comparisons the middle is told as taken out and put in whole: a page must not stand still. */
const MOST_COMPARED = 1_500_000;

/** @typedef {{kind: "same"|"added"|"removed", text: string}} Change */

/**
 * Compare two texts.
 * @param {string} before
 * @param {string} after
 * @returns {Change[]} without the removed ones they are `after`, without the added ones `before`
 */
export function wordDiff(before, after) {
  const old = words(before);
  const now = words(after);
  let start = 0;
  while (start < old.length && start < now.length && old[start] === now[start]) start += 1;
  let tail = 0;
  const most = Math.min(old.length, now.length) - start;
  while (tail < most && old[old.length - 1 - tail] === now[now.length - 1 - tail]) tail += 1;
  const changes = [
    ...same(old.slice(0, start)),
    ...middle(old.slice(start, old.length - tail), now.slice(start, now.length - tail)),
    ...same(old.slice(old.length - tail)),
  ];
  return joined(changes);
}

/** Words and what stands between them. @param {string} text */
function words(text) {
  return text.match(/\s+|[\p{L}\p{N}_]+|[^\s\p{L}\p{N}_]/gu) ?? [];
}

/** @param {string[]} pieces @returns {Change[]} */
function same(pieces) {
  return pieces.map((text) => ({ kind: "same", text }));
}

/** @param {string[]} old @param {string[]} now @returns {Change[]} */
function middle(old, now) {
  if (old.length * now.length > MOST_COMPARED || old.length === 0 || now.length === 0) return replaced(old, now);
  const lengths = commonLengths(old, now);
  const width = now.length + 1;
  /** @type {Change[]} */
  const changes = [];
  let i = 0;
  let j = 0;
  while (i < old.length && j < now.length) {
    if (old[i] === now[j]) {
      changes.push({ kind: "same", text: old[i] });
      i += 1;
      j += 1;
    } else if (lengths[(i + 1) * width + j] >= lengths[i * width + j + 1]) {
      changes.push({ kind: "removed", text: old[i] });
      i += 1;
    } else {
      changes.push({ kind: "added", text: now[j] });
      j += 1;
    }
  }
  return [...changes, ...replaced(old.slice(i), now.slice(j))];
}

/** @param {string[]} old @param {string[]} now @returns {Change[]} */
function replaced(old, now) {
  return [
    ...old.map((text) => /** @type {Change} */ ({ kind: "removed", text })),
    ...now.map((text) => /** @type {Change} */ ({ kind: "added", text })),
  ];
}

/** How many words both have in common from each pair of places on. @param {string[]} old @param {string[]} now */
function commonLengths(old, now) {
  const width = now.length + 1;
  const lengths = new Uint32Array((old.length + 1) * width);
  for (let i = old.length - 1; i >= 0; i -= 1) {
    for (let j = now.length - 1; j >= 0; j -= 1) {
      const place = i * width + j;
      lengths[place] =
        old[i] === now[j] ? lengths[place + width + 1] + 1 : Math.max(lengths[place + width], lengths[place + 1]);
    }
  }
  return lengths;
}

/**
 * Put neighbours together; a blank between two changed words belongs to the change, so that it reads in one piece.
 * @param {Change[]} changes
 */
function joined(changes) {
  /** @type {Change[]} */
  const pieces = [];
  const add = (/** @type {Change} */ change) => {
    const last = pieces.at(-1);
    if (last?.kind === change.kind) last.text += change.text;
    else pieces.push({ ...change });
  };
  for (let at = 0; at < changes.length;) {
    let end = at;
    while (end < changes.length && belongs(changes, at, end)) end += 1;
    end = Math.max(end, at + 1);
    const run = changes.slice(at, end);
    const isReplaced = has(run, "removed") && has(run, "added");
    for (const change of isReplaced ? [whole("removed", run), whole("added", run)] : run) add(change);
    at = end;
  }
  return pieces;
}

/** @param {Change[]} changes @param {number} start @param {number} at */
function belongs(changes, start, at) {
  if (changes[at].kind !== "same") return true;
  const isBlank = changes[at].text.trim() === "";
  return at > start && isBlank && at + 1 < changes.length && changes[at + 1].kind !== "same";
}

/** @param {Change[]} changes @param {Change["kind"]} kind */
function has(changes, kind) {
  return changes.some((change) => change.kind === kind);
}

/** @param {"removed"|"added"} kind @param {Change[]} changes @returns {Change} */
function whole(kind, changes) {
  const text = changes.filter((change) => change.kind === kind || change.kind === "same").map((change) => change.text);
  return { kind, text: text.join("") };
}
