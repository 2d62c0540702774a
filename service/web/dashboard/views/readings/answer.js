/** How a reading ended: its answer, or why there is none and what to do. */

import { Markdown } from "../../parts/markdown.js";
import { Note } from "../../parts/note.js";
import { VisibleText } from "../../parts/visible_text.js";
import { html, memo, useState } from "../../vendor/htm-preact.js";
import { Written } from "./cell_details.js";
import { Chain } from "./memories.js";
import { counted, mendingOf } from "./words.js";

/**
 * The end of a reading, or its answer while it is written.
 * @param {{view: any}} props
 */
export const Answer = memo(
  function Answer({ view }) {
    const { answer, drafting, outcome } = view;
    if (answer) return html`<${Given} view=${view} />`;
    if (outcome === "not_found") return html`<${NotFound} view=${view} />`;
    if (outcome === "failed") return html`<${Failed} error=${view.error} />`;
    if (outcome === "cancelled") {
      return html`<${Note} mood="warn">
        ${
          view.seen === 0
            ? "This reading was cancelled before its first chunk was read whole."
            : `This reading was cancelled after ${counted(view.seen, "chunk")}. What was noted until then stands below.`
        }
      <//>`;
    }
    if (!drafting) return null;
    return html`<section class="card answer" aria-label="Answer">
      <div class="inside stack">
        <h2>The answer is being written</h2>
        ${
          drafting.retrying &&
          html`<p class="fault">Asked again: <${VisibleText} text=${drafting.retrying.reason} /></p>`
        }
        <${Written} text=${drafting.text} />
      </div>
    </section>`;
  },
  (before, after) =>
    ["answer", "drafting", "outcome", "error", "memories"].every((part) => before.view[part] === after.view[part]),
);

function Given({ view }) {
  const [open, setOpen] = useState(false);
  const { content, memory, truncated } = view.answer;
  return html`<section class="card answer" aria-label="Answer">
    <div class="inside stack">
      <h2>Answer</h2>
      <div class="said"><${Markdown} text=${content} /></div>
      ${truncated && html`<${Note} mood="warn">It was cut: it grew longer than the model may write.<//>`}
      <details open=${open} onToggle=${(event) => setOpen(event.target.open)}>
        <summary>Where it comes from</summary>
        ${
          open &&
          html`<p class="quiet-text">
            It was written out of the question and the last memory alone. Below is that memory, and each before it. A
            memory's evidence is what it was made from, not a proof that each word of it stands there. Bytes are those
            of the document's text in UTF-8.
          </p>
          <${Chain} sha256=${memory} view=${view} />`
        }
      </details>
    </div>
  </section>`;
}

function NotFound({ view }) {
  return html`<section class="card answer none" aria-label="Answer">
    <div class="inside stack">
      <h2>Not found</h2>
      <p>
        The model read ${counted(view.seen, "chunk")} and noted nothing: no chunk was of use for this question. So it
        was not asked for an answer, and none was made up.
      </p>
      <p class="quiet-text">
        That doesn't prove that it isn't there: what the gate passes over is lost. Ask in the words of the text, or
        with smaller chunks, or look at the cells whose update gate was not sure.
      </p>
    </div>
  </section>`;
}

function Failed({ error }) {
  return html`<${Note} mood="bad">
    <p><b>This reading failed</b> (${error.kind.replaceAll("_", " ")}): <${VisibleText} text=${error.message} /></p>
    <p>${mendingOf(error.kind)}</p>
  <//>`;
}
