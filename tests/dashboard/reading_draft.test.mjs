import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import * as draft from "../../service/web/dashboard/views/readings/draft.js";
import { sendDraft } from "../../service/web/dashboard/views/readings/send.js";

const file = (name, text = "text", lastModified = 1) => new File([text], name, { lastModified });

/** A service that takes down what it is sent, and answers what it is told to: a reading, or what it throws. */
function service(...answers) {
  const sent = [];
  const answer = async (path, body, { idempotencyKey }) => {
    sent.push({ path, body, key: idempotencyKey });
    const next = answers.shift() ?? { id: "rdg_1" };
    if (next instanceof Error) throw next;
    return next;
  };
  return { sent, post: answer, upload: answer };
}

const refusal = (status, fields = {}) => Object.assign(new Error("no"), { status, code: "invalid_request", ...fields });
const AWAY = refusal(0, { code: "unreachable" });

function typed(query = "Where?", text = "Here.") {
  draft.fill("query", query);
  draft.changeDocument(draft.addText(), { text });
}

beforeEach(draft.clearDraft);

test("texts are sent as JSON, with the options that were set and no others", () => {
  typed();
  draft.fill("memoryBudget", " 64 ", "memory_budget");
  assert.deepEqual(draft.requestOf(draft.draftNow()), {
    body: {
      query: "Where?",
      documents: [{ name: "pasted text", text: "Here." }],
      level: 1,
      exit: "never",
      memory_budget: 64,
    },
  });
});

test("where there is a file all is sent as a form, texts too, in the order in which they were chosen", async () => {
  draft.fill("query", "Where?");
  draft.addFiles([file("b.txt", "two")]);
  draft.changeDocument(draft.addText(), { text: "one", name: "a" });
  draft.fill("chunkTokens", "300", "chunk_tokens");
  const { form, body } = draft.requestOf(draft.draftNow());

  assert.equal(body, undefined);
  assert.deepEqual(
    [...form].filter(([name]) => name !== "files"),
    [
      ["query", "Where?"],
      ["level", "2"],
      ["exit", "never"],
      ["chunk_tokens", "300"],
    ],
  );
  const files = form.getAll("files");
  assert.deepEqual(await Promise.all(files.map(async (one) => [one.name, await one.text()])), [
    ["b.txt", "two"],
    ["a", "one"],
  ]);
});

test("texts too long for JSON are sent as a form", () => {
  typed("Where?", "x".repeat(1_000_001));
  assert.equal(draft.requestOf(draft.draftNow()).form.getAll("files").length, 1);
});

test("a file that is there already is not added twice; another one of its name is", () => {
  draft.addFiles([file("a.txt"), file("b.txt")]);
  draft.addFiles([file("a.txt"), file("a.txt", "other text")]);
  assert.deepEqual(
    draft.draftNow().documents.map(({ name }) => name),
    ["a.txt", "b.txt", "a.txt"],
  );
});

test("pasted texts get names of their own, and each document a key of its own", () => {
  draft.addText();
  draft.addText();
  const { documents } = draft.draftNow();
  assert.deepEqual(
    documents.map(({ name }) => name),
    ["pasted text", "pasted text 2"],
  );
  draft.removeDocument(documents[0].key);
  draft.addText();
  const names = draft.draftNow().documents.map(({ name }) => name);
  assert.deepEqual(names.sort(), ["pasted text", "pasted text 2"]);
  assert.equal(new Set(draft.draftNow().documents.map(({ key }) => key)).size, 2);
});

test("the same request keeps its key when it is sent again, and another one gets another", async () => {
  const away = service(AWAY, AWAY, AWAY, { id: "rdg_1" });
  typed();
  for (let time = 0; time < 2; time += 1) assert.equal(await sendDraft(away), null);
  draft.fill("query", "Where else?");
  assert.equal(await sendDraft(away), null);
  assert.deepEqual(await sendDraft(away), { id: "rdg_1" });

  const [first, second, third, fourth] = away.sent.map(({ key }) => key);
  assert.ok(first.length > 16);
  assert.equal(first, second);
  assert.notEqual(second, third);
  assert.equal(third, fourth);
});

test("each change to what is asked makes it another request", async () => {
  const changes = {
    "a document's text": (key) => draft.changeDocument(key, { text: "There." }),
    "one document more": () => draft.addFiles([file("b.txt")]),
    "one text more": () => draft.changeDocument(draft.addText(), { text: "More" }),
    "an option": () => draft.fill("exit", "asked"),
  };
  for (const [what, change] of Object.entries(changes)) {
    draft.clearDraft();
    typed();
    const away = service(AWAY, AWAY);
    await sendDraft(away);
    change(draft.draftNow().documents[0].key);
    await sendDraft(away);
    assert.notEqual(away.sent[0].key, away.sent[1].key, what);
  }
});

test("a reading that has begun leaves an empty form; one that was not leaves all as it was", async () => {
  typed();
  await sendDraft(service(refusal(503, { detail: "The store is full" })));
  const { query, documents, problem, sending } = draft.draftNow();
  assert.deepEqual([query, documents[0].text, problem, sending], ["Where?", "Here.", "The store is full", null]);
  await sendDraft(service());
  assert.deepEqual([draft.draftNow().query, draft.draftNow().documents], ["", []]);
});

test("what is missing is said where it stands, and nothing is sent", async () => {
  const api = service();
  draft.fill("parallel", "two");
  assert.equal(await sendDraft(api), null);
  assert.deepEqual(Object.keys(draft.draftNow().fields).sort(), ["documents", "parallel", "query"]);
  typed("Where?", "  ");
  draft.fill("parallel", "");
  assert.equal(await sendDraft(api), null);
  assert.match(draft.draftNow().documents[0].problem, /empty/);
  assert.deepEqual(api.sent, []);
});

test("a refusal stands at the document that it names, in the service's words", () => {
  draft.addFiles([file("a.txt"), file('b"1".zip'), file("\u202eb.pdf")]);
  const errors = [
    { field: "files", detail: '"b%221%22.zip" is a ZIP archive; unpack it' },
    { field: "files", detail: '"\\u202eb.pdf" is an encrypted PDF' },
  ];
  const refused = draft.withRefusal(draft.draftNow(), refusal(422, { errors }));

  assert.deepEqual(
    refused.documents.map(({ problem }) => problem),
    [null, errors[0].detail, errors[1].detail],
  );
  assert.deepEqual(refused.fields, {});
  assert.notEqual(refused.problem, null);
});

test("a refusal of a text's name, or of a field, is a sentence at that place", () => {
  typed();
  const errors = [
    { field: "documents.0.name", detail: "must not be empty" },
    { field: "memory_budget", detail: "must be at least 64" },
  ];
  const refused = draft.withRefusal(draft.draftNow(), refusal(422, { errors }));

  assert.equal(refused.documents[0].problem, "Its name must not be empty.");
  assert.deepEqual(refused.fields, { memory_budget: "must be at least 64" });
});

test("names that begin alike are told apart, and a name too long is known by its beginning", () => {
  draft.addFiles([file("a"), file("a.txt"), file(`${"n".repeat(300)}.txt`)]);
  const errors = [
    { field: "files", detail: '"a.txt" is empty' },
    { field: "files", detail: `"${"n".repeat(200)}…" is empty` },
  ];
  const refused = draft.withRefusal(draft.draftNow(), refusal(422, { errors }));
  assert.deepEqual(
    refused.documents.map(({ problem }) => problem !== null),
    [false, true, true],
  );
});

test("an upload that is too large is told at its largest document", () => {
  draft.addFiles([file("a.txt", "x"), file("b.txt", "xxx")]);
  const refused = draft.withRefusal(draft.draftNow(), refusal(413, { code: "too_large", detail: "over 8 MiB" }));
  assert.deepEqual(
    refused.documents.map(({ problem }) => problem),
    [null, "over 8 MiB; this document is the largest."],
  );
});

test("any other refusal stands below the form", () => {
  typed();
  const refused = draft.withRefusal(draft.draftNow(), refusal(503, { code: "no_model", detail: "No model" }));
  assert.deepEqual([refused.problem, refused.fields, refused.documents[0].problem], ["No model", {}, null]);
});

test("asked again, a reading's question and options are there, and what was chosen meanwhile stays", () => {
  draft.addFiles([file("a.txt")]);
  const options = { exit: "measured", memory_budget: 128, chunk_tokens: null, parallel: 2 };
  draft.draftAfter({ query: "Where?", options });
  const { query, exit, memoryBudget, chunkTokens, parallel, documents } = draft.draftNow();
  assert.deepEqual([query, exit, memoryBudget, chunkTokens, parallel], ["Where?", "measured", "128", "", "2"]);
  assert.equal(documents.length, 1);
});
