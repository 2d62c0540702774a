/** What somebody is about to ask of a reading. It is kept for as long as the page is open, wherever on it they go. */

import { told } from "../../parts/toast.js";
import { codePoints, visible } from "../../state/text.js";
import { useEffect, useState } from "../../vendor/htm-preact.js";

/** Longer texts go as files: a body of JSON has a lower bound than an upload. */
const LONGEST_AS_JSON = 1_000_000;
const NAME_SHOWN = 200;
const NAMES = ["pasted text", ...Array.from({ length: 256 }, (_, at) => `pasted text ${at + 2}`)];
const ELSEWHERE = "Nothing was begun yet. What has to be changed is said above, where it stands.";

/**
 * @typedef {{key: number, name: string, file: File|null, text: string, problem: string|null}} Chosen a document; `file`
 *   is null of a text that is typed or pasted
 * @typedef {{query: string, documents: Chosen[], exit: "never"|"asked"|"measured", memoryBudget: string,
 *   chunkTokens: string, parallel: string, problem: string|null, fields: Record<string, string>,
 *   requestKey: string|null, sending: AbortController|null}} Draft `fields`: what is wrong with each; `requestKey`
 *   stays the same while the same is asked for again, so that nothing is begun twice
 */

/** @type {Draft} */
const EMPTY = {
  query: "",
  documents: [],
  exit: "never",
  memoryBudget: "",
  chunkTokens: "",
  parallel: "",
  problem: null,
  fields: {},
  requestKey: null,
  sending: null,
};

let kept = EMPTY;
let lastKey = 0;
const listeners = new Set();

/** Change the draft, also when its form is not shown. @param {(draft: Draft) => Draft} how */
export function changeDraft(how) {
  kept = how(kept);
  for (const listener of listeners) listener(kept);
}

/** The draft as it is. */
export function draftNow() {
  return kept;
}

/** Look at the draft. */
export function useDraft() {
  const [draft, setDraft] = useState(kept);
  useEffect(() => {
    setDraft(kept);
    listeners.add(setDraft);
    return () => listeners.delete(setDraft);
  }, []);
  return draft;
}

/** Put in what somebody typed or chose: it is another request then, and what was wrong with that field is forgotten. */
export function fill(field, value, name = field) {
  changeDraft((draft) => ({ ...draft, [field]: value, fields: { ...draft.fields, [name]: "" }, requestKey: null }));
}

/** Begin anew. */
export function clearDraft() {
  changeDraft(() => EMPTY);
}

/** Take the question and the options of a reading; its documents are chosen again, since the service gives no texts. */
export function draftAfter(reading) {
  const { exit, memory_budget: budget, chunk_tokens: chunk, parallel } = reading.options;
  changeDraft((draft) => ({
    ...EMPTY,
    documents: draft.documents,
    query: reading.query,
    exit,
    memoryBudget: String(budget),
    chunkTokens: chunk === null ? "" : String(chunk),
    parallel: parallel === null ? "" : String(parallel),
  }));
}

/**
 * Add files; one that is there already is not added twice.
 * @param {Iterable<File>} files
 */
export function addFiles(files) {
  changeDraft((draft) => {
    const fresh = [...files].filter((file) => !draft.documents.some((other) => isSameFile(other.file, file)));
    const added = fresh.map((file) => ({ key: (lastKey += 1), name: file.name, file, text: "", problem: null }));
    return { ...draft, documents: [...draft.documents, ...added], fields: {}, problem: null, requestKey: null };
  });
}

function isSameFile(one, other) {
  return one !== null && one.name === other.name && one.size === other.size && one.lastModified === other.lastModified;
}

/** Add a text that is to be typed or pasted; gives its key. */
export function addText() {
  lastKey += 1;
  const key = lastKey;
  changeDraft((draft) => {
    const names = draft.documents.map(({ name }) => name);
    const name = NAMES.find((one) => !names.includes(one)) ?? "pasted text";
    const added = { key, name, file: null, text: "", problem: null };
    return { ...draft, documents: [...draft.documents, added], fields: {}, problem: null, requestKey: null };
  });
  return key;
}

/** Change a document. */
export function changeDocument(key, changed) {
  changeDraft((draft) => ({
    ...draft,
    documents: draft.documents.map((one) => (one.key === key ? { ...one, problem: null, ...changed } : one)),
    requestKey: null,
  }));
}

/** Take a document out. */
export function removeDocument(key) {
  changeDraft((draft) => ({
    ...draft,
    documents: draft.documents.filter((document) => document.key !== key),
    problem: null,
    requestKey: null,
  }));
}

/** Several documents are read each by itself first. @param {Draft} draft */
export function levelOf(draft) {
  return draft.documents.length > 1 ? 2 : 1;
}

/** The options that were set, by the names of the service. @param {Draft} draft */
function optionsOf(draft) {
  const options = { level: levelOf(draft), exit: draft.exit };
  const numbers = { memory_budget: draft.memoryBudget, chunk_tokens: draft.chunkTokens, parallel: draft.parallel };
  for (const [name, text] of Object.entries(numbers)) if (text.trim()) options[name] = Number(text);
  return options;
}

/**
 * Make the request: JSON where all are texts, a form where there is a file.
 * @param {Draft} draft
 * @returns {{body: object}|{form: FormData}}
 */
export function requestOf(draft) {
  const texts = draft.documents.reduce((sum, document) => sum + document.text.length, 0);
  if (draft.documents.every((document) => document.file === null) && texts <= LONGEST_AS_JSON) {
    const documents = draft.documents.map(({ name, text }) => ({ name, text }));
    return { body: { query: draft.query, documents, ...optionsOf(draft) } };
  }
  const form = new FormData();
  form.set("query", draft.query);
  for (const [name, value] of Object.entries(optionsOf(draft))) form.set(name, String(value));
  for (const { name, file, text } of draft.documents) {
    form.append("files", file ?? new File([text], name, { type: "text/plain" }), name);
  }
  return { form };
}

/**
 * Put what was refused where it belongs: at the document that it names, at the field, or below the form.
 * @param {Draft} draft
 * @param {any} problem
 * @returns {Draft}
 */
export function withRefusal(draft, problem) {
  const faults = Array.isArray(problem.errors) ? problem.errors : [];
  const fields = {};
  const documents = [...draft.documents];
  for (const { field, detail } of faults) {
    const at = documents.findIndex((document, index) => isAbout(document, index, field, detail));
    if (at >= 0) documents[at] = { ...documents[at], problem: sentence(field, detail) };
    else fields[field] = detail;
  }
  if (problem.code === "too_large" && documents.length > 0) {
    // It is the sum that is too large; the largest is the first to look at.
    const sizes = documents.map(({ file, text }) => (file ? file.size : text.length));
    const at = sizes.indexOf(Math.max(...sizes));
    documents[at] = {
      ...documents[at],
      problem: `${told(problem)}${documents.length > 1 ? "; this document is the largest" : ""}.`,
    };
  }
  const isPlaced = faults.length > 0 || problem.code === "too_large";
  return { ...draft, documents, fields, problem: isPlaced ? ELSEWHERE : told(problem), sending: null };
}

/** The service's words; where they don't name what they are about, it is the last part of the field's name. */
function sentence(field, detail) {
  return detail.startsWith('"') ? detail : `Its ${field.slice(field.lastIndexOf(".") + 1)} ${detail}.`;
}

function isAbout(document, index, field, detail) {
  return field.startsWith(`documents.${index}.`) || (field === "files" && detail.startsWith(`"${nameTold(document)}`));
}

/** A name as the service tells it: a form escapes some characters, hidden ones are shown, a long one is cut. */
function nameTold(document) {
  const sent = document.name.replace(/["\r\n]/g, encodeURIComponent);
  const isCut = codePoints(sent) > NAME_SHOWN;
  return `${visible(isCut ? [...sent].slice(0, NAME_SHOWN).join("") : sent, { keep: "" })}${isCut ? "…" : ""}"`;
}
