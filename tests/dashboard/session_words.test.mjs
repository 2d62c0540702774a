import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { beforeEach, test } from "node:test";
import { keyFor } from "../../service/web/dashboard/state/request_key.js";
import { keepDraft, keptDraft } from "../../service/web/dashboard/views/session/draft.js";
import * as words from "../../service/web/dashboard/views/session/words.js";

const TRIED = { body: '{"content":"Hello"}', key: "key-1" };

/** What a tab keeps; `full` refuses all, as a browser may. */
class Storage {
  #kept = new Map();
  full = false;

  getItem(name) {
    if (this.full) throw new Error("forbidden");
    return this.#kept.get(name) ?? null;
  }

  setItem(name, value) {
    if (this.full) throw new Error("full");
    this.#kept.set(name, value);
  }

  removeItem(name) {
    this.#kept.delete(name);
  }

  get size() {
    return this.#kept.size;
  }
}

beforeEach(() => {
  globalThis.sessionStorage = new Storage();
});

const SETTINGS = source("config/settings.py");

/** The text of one of the service's modules. */
function source(file) {
  return readFileSync(new URL(`../../service/${file}`, import.meta.url), "utf8");
}

/** The names of an enumeration of the service. */
function namesOf(file, enumeration) {
  const text = source(`core/${file}`);
  const body = new RegExp(`^class ${enumeration}\\(StrEnum\\):\\n((?:(?: {4}.*)?\\n)+)`, "m").exec(text)[1];
  return [...body.matchAll(/^ {4}[A-Z_]+ = "([a-z_]+)"/gm)].map(([, name]) => name);
}

test("each reason to wait is said in words with the time", () => {
  for (const reason of namesOf("completion_events.py", "WaitReason")) {
    const said = words.waitingText({ reason, waitedMs: 61_000 });
    assert.match(said, /^(All slots|The model server) .*\. Waited for 1 min 1 s\.$/, reason);
  }
  assert.equal(words.waitingText({ reason: "new", waitedMs: 5 }), "Waiting: new. Waited for 5 ms.");
});

test("each reason of a lost cache is explained", () => {
  const loss = { lostTokens: 1500, expectedTokens: 2000 };
  for (const reason of namesOf("records/completions.py", "CacheLossReason")) {
    const said = words.cacheLossText({ ...loss, reason });
    assert.match(said, /^1,500 of 2,000 tokens .* takes time\. [A-Z].*\.$/, reason);
  }
  assert.match(words.cacheLossText({ ...loss, reason: "new" }), / new$/);
});

test("each trouble has a name and what to do, also one that is not known", () => {
  // A plan is a reading's.
  for (const kind of namesOf("errors.py", "ErrorKind").filter((name) => name !== "plan_changed")) {
    assert.notEqual(words.troubleName(kind), kind.replaceAll("_", " "), kind);
    assert.match(words.troubleAdvice(kind), /[.?]$/, kind);
  }
  assert.equal(words.troubleName("some_new_one"), "some new one");
  assert.match(words.troubleAdvice("some_new_one"), /^Retry/);
});

test("each limit is named with the setting that changes it", () => {
  for (const limit of namesOf("records/outcomes.py", "Limit")) {
    const { what, setting } = words.limitText(limit);
    assert.notEqual(what, limit.replaceAll("_", " "));
    assert.match(SETTINGS, new RegExp(`^ {4}${setting}: `, "m"), setting);
  }
  assert.deepEqual(words.limitText("some_limit"), { what: "some limit", setting: "some_limit" });
});

test("each status of a call and each class is explained", () => {
  for (const status of namesOf("records/outcomes.py", "ResultStatus")) assert.match(words.STATUS[status] ?? "", /\.$/, status);
  assert.deepEqual(Object.keys(words.CLASSES).sort(), namesOf("labels.py", "DataClass").sort());
});

test("a request that is tried again has the key of the first time; another one gets a new one", () => {
  assert.equal(keyFor(TRIED, TRIED.body), "key-1");
  const others = [keyFor(TRIED, '{"content":"Hello!"}'), keyFor(null, TRIED.body), keyFor(null, TRIED.body)];
  assert.equal(new Set([...others, "key-1"]).size, 4);
  for (const key of others) assert.match(key, /^[0-9a-f]{32}$/);
});

test("what is being written is kept for each session, with the try that may have arrived", () => {
  keepDraft("ses_1", { text: "Hel", tried: TRIED });
  keepDraft("ses_2", { text: "other", tried: null });
  assert.deepEqual(keptDraft("ses_1"), { text: "Hel", tried: TRIED });
  assert.deepEqual(keptDraft("ses_2"), { text: "other", tried: null });
  assert.deepEqual(keptDraft("ses_3"), { text: "", tried: null });
});

test("nothing is kept where there is nothing", () => {
  keepDraft("ses_1", { text: "Hel", tried: null });
  keepDraft("ses_1", { text: "", tried: null });
  assert.equal(sessionStorage.size, 0);
});

test("a storage that is full, forbidden or holds something else is no trouble", () => {
  sessionStorage.setItem("turnkeeper.draft.ses_1", "no json");
  assert.deepEqual(keptDraft("ses_1"), { text: "", tried: null });
  sessionStorage.full = true;
  keepDraft("ses_1", { text: "Hel", tried: null });
  assert.deepEqual(keptDraft("ses_1"), { text: "", tried: null });
});
