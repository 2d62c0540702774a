/** Begins a reading: a question, documents, and how to read. */

import { Note } from "../../parts/note.js";
import { Progress } from "../../parts/progress.js";
import { formatBytes, formatNumber, utf8Length } from "../../state/text.js";
import { html, useMemo, useRef } from "../../vendor/htm-preact.js";
import { fill, useDraft } from "./draft.js";
import { Documents } from "./documents.js";
import { Options } from "./options.js";
import { sendDraft } from "./send.js";

/** Fields that have a place of their own for what is wrong with them. */
const PLACED = ["query", "documents", "files", "memory_budget", "chunk_tokens", "parallel"];

/**
 * The form.
 * @param {{api: any, onBegun: (reading: any) => void}} props
 */
export function StartReading({ api, onBegun }) {
  const draft = useDraft();
  const form = useRef(null);
  const busy = draft.sending !== null;
  const submit = async (event) => {
    event.preventDefault();
    const reading = await sendDraft(api);
    if (reading !== null) onBegun(reading);
    else form.current?.querySelector(".fault, .note.bad")?.scrollIntoView({ block: "nearest" });
  };
  const elsewhere = Object.entries(draft.fields).filter(([field, fault]) => fault && !PLACED.includes(field));
  return html`<form class="start" ref=${form} onSubmit=${submit} noValidate>
    <div>
      <label for="reading-query">Question</label>
      <textarea
        id="reading-query"
        rows="2"
        placeholder="When can the tenant give notice?"
        value=${draft.query}
        disabled=${busy}
        aria-invalid=${draft.fields.query ? "true" : undefined}
        aria-describedby=${draft.fields.query ? "reading-query-fault" : undefined}
        onInput=${(event) => fill("query", event.target.value)}
      ></textarea>
      ${draft.fields.query && html`<p class="fault" id="reading-query-fault">The question ${draft.fields.query}</p>`}
    </div>
    <${Documents} documents=${draft.documents} fault=${draft.fields.documents || draft.fields.files} busy=${busy} />
    <${Options} draft=${draft} />
    ${elsewhere.map(([field, fault]) => html`<p class="fault" key=${field}>${field} ${fault}</p>`)}
    ${draft.problem && html`<${Note} mood="bad" alert>${draft.problem}<//>`}
    ${
      busy
        ? html`<${UnderWay} draft=${draft} />`
        : html`<div><button type="submit" class="primary">Begin reading</button></div>`
    }
  </form>`;
}

function UnderWay({ draft }) {
  const bytes = useMemo(
    () => draft.documents.reduce((sum, { file, text }) => sum + (file ? file.size : utf8Length(text)), 0),
    [draft.documents],
  );
  const number = draft.documents.length;
  const what = number === 1 ? "1 document" : `${formatNumber(number)} documents`;
  return html`<div class="under-way">
    <div class="grow"><${Progress}
      label="Sending ${what}; the service gets the text out of them"
      text=${formatBytes(bytes)}
    /></div>
    <button type="button" onClick=${() => draft.sending.abort()}>Stop</button>
  </div>`;
}
