/** Sends what was drafted, and says at each document what is wrong with it. */

import { newRequestKey } from "../../state/request_key.js";
import { changeDraft, clearDraft, draftNow, requestOf, withRefusal } from "./draft.js";

const WHOLE = /^\s*\d+\s*$/;
const CHANGED = "It has changed on the disk, or is no longer there; choose it again.";
const NEEDED = {
  query: "is needed: write what you want to know.",
  documents: "are needed: at least one file or one text.",
  number: "should be a whole number, or left empty.",
  text: "It is empty: paste or type the text, or remove this document.",
};
const UNSURE =
  "The service did not answer. Nothing here is lost: send it again, it is never begun twice. " +
  "If it is a large upload that fails each time, it may be more than the service takes (setting max_upload_bytes).";

/**
 * Begin the reading that was drafted.
 * @param {any} api
 * @returns {Promise<any|null>} the reading; null where it was not begun, and the draft says why
 */
export async function sendDraft(api) {
  const refusal = missing(draftNow());
  if (refusal) {
    changeDraft((draft) => ({ ...draft, ...refusal }));
    return null;
  }
  const sending = new AbortController();
  changeDraft((draft) => ({
    ...draft,
    documents: draft.documents.map((document) => ({ ...document, problem: null })),
    problem: null,
    fields: {},
    requestKey: draft.requestKey ?? newRequestKey(),
    sending,
  }));
  try {
    const reading = await posted(api, draftNow(), sending.signal);
    clearDraft();
    return reading;
  } catch (problem) {
    await refused(problem, sending.signal.aborted);
    return null;
  }
}

function posted(api, draft, signal) {
  const options = { idempotencyKey: draft.requestKey, headers: { Prefer: "respond-async" }, signal };
  const { body, form } = requestOf(draft);
  return form ? api.upload("readings", form, options) : api.post("readings", body, options);
}

async function refused(problem, stopped) {
  if (stopped) {
    changeDraft((draft) => ({
      ...draft,
      sending: null,
      problem: "Stopped. If all of it had been sent already, the reading is in the list.",
    }));
    return;
  }
  if (problem.status !== 0) {
    changeDraft((draft) => withRefusal(draft, problem));
    return;
  }
  const gone = await unreadable(draftNow().documents);
  changeDraft((draft) => ({
    ...draft,
    sending: null,
    problem: gone.size > 0 ? "Nothing was begun: a file can't be read any more." : UNSURE,
    documents: draft.documents.map((one) => (gone.has(one.key) ? { ...one, problem: CHANGED } : one)),
  }));
}

/** A file that was changed after it was chosen can't be sent; the browser tells that like a lost connection. */
async function unreadable(documents) {
  const gone = new Set();
  for (const { key, file } of documents) {
    if (file === null) continue;
    try {
      await file.slice(0, 1).arrayBuffer();
    } catch {
      gone.add(key);
    }
  }
  return gone;
}

/** What can be seen without asking the service. */
function missing(draft) {
  const fields = {};
  if (!draft.query.trim()) fields.query = NEEDED.query;
  if (draft.documents.length === 0) fields.documents = NEEDED.documents;
  const numbers = { memory_budget: draft.memoryBudget, chunk_tokens: draft.chunkTokens, parallel: draft.parallel };
  for (const [name, text] of Object.entries(numbers))
    if (text.trim() && !WHOLE.test(text)) fields[name] = NEEDED.number;
  const isEmpty = (one) => one.file === null && !one.text.trim();
  const documents = draft.documents.map((one) => (isEmpty(one) ? { ...one, problem: NEEDED.text } : one));
  if (Object.keys(fields).length === 0 && !documents.some(isEmpty)) return null;
  return { fields, documents, problem: "Something is missing; it is said above, where it stands." };
}
