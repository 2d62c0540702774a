/** What is known of one chunk: its gates, what it cost, where it stands, what memory came of it. */

import { Hash } from "../../parts/hash.js";
import { VisibleText } from "../../parts/visible_text.js";
import { formatNumber } from "../../state/text.js";
import { html, memo, useLayoutEffect, useRef } from "../../vendor/htm-preact.js";
import { cellTitle, counted, documentName, probability } from "./words.js";

const HAPPENED = {
  waiting: "It was not read yet.",
  reading: "It is being read now.",
  kept: "Kept: the model found nothing of use in it, so the memory stayed byte for byte.",
  used: "Used: the model found something, and the memory is a new one since.",
  over_budget: "The new memory was too long. It is never cut to fit, so the memory stayed as it was.",
  parse_failed: "No reply of the model parsed. A gate is never guessed, so the memory stayed as it was.",
  skipped: "It was not read: the pass had ended before it.",
};
/** Below this a gate says little. */
const TOSSED = 0.7;
const NEVER_READ = "It was not read: the reading had ended before.";

/**
 * The details of a cell.
 * @param {{cell: any, pass: any, documents: any[], budget: number, ended: boolean, following: boolean,
 *   onStep: (by: number) => void, onFollow: () => void}} props
 */
export const CellDetails = memo(function CellDetails({
  cell,
  pass,
  documents,
  budget,
  ended,
  following,
  onStep,
  onFollow,
}) {
  const title = cellTitle(cell, pass, documents);
  const isNever = cell.state === "waiting" && ended;
  return html`<section class="card details-of-cell ${ended ? "" : "live"}" aria-label="The chosen chunk">
    <div class="inside stack">
      <div>
        <h3>
          <span class="cell ${cell.state} ${cell.exit ? "exit" : ""}" aria-hidden="true"></span>
          ${title[0].toUpperCase()}${title.slice(1)}${" "}
          <span class="quiet-text">of ${formatNumber(pass.cells.length)}</span>
        </h3>
        <div class="row steps-along">
          <button type="button" class="small" disabled=${cell.chunk === 1} onClick=${() => onStep(-1)}>Previous</button>
          <button
            type="button"
            class="small"
            disabled=${cell.chunk === pass.cells.length}
            onClick=${() => onStep(1)}
          >Next</button>
          ${!ended && html`<button
            type="button"
            class="small"
            aria-pressed=${following}
            onClick=${onFollow}
          >Follow</button>`}
        </div>
      </div>
      <p>${isNever ? NEVER_READ : HAPPENED[cell.state]}</p>
      <${Trouble} cell=${cell} />
      ${cell.state === "reading" && html`<${Written} text=${cell.text} />`}
      <dl class="facts">
        <${Gate} name="Update gate" set=${cell.update} sure=${cell.pUpdate} />
        <${Gate}
          name="Exit gate"
          set=${cell.exit}
          sure=${cell.pExit}
          more=${cell.exitRefused ? "refused: the memory was empty" : ""}
        />
        <${Draft} cell=${cell} />
        ${
          cell.tokens !== null &&
          html`<dt>New memory</dt>
          <dd>${formatNumber(cell.tokens)} of at most ${formatNumber(budget)} tokens</dd>`
        }
        ${
          cell.state === "over_budget" &&
          cell.tokens === null &&
          html`<dt>New memory</dt>
          <dd>cut before it ended; at most ${formatNumber(budget)} tokens</dd>`
        }
        <dt>Text</dt>
        <dd><${Place} cell=${cell} pass=${pass} documents=${documents} /></dd>
        ${
          cell.evidence &&
          html`<dt>Evidence</dt>
          <dd><${Hash} value=${cell.evidence} what="SHA-256 of the evidence" label="sha256 " /></dd>`
        }
        ${
          cell.memory &&
          html`<dt>Memory</dt>
          <dd><${Hash} value=${cell.memory} what="SHA-256 of the memory" label="sha256 " /> (see below)</dd>`
        }
        <${Cost} usage=${cell.usage} />
      </dl>
    </div>
  </section>`;
});

function Trouble({ cell }) {
  const { retrying, reason, attempts } = cell;
  if (retrying !== null) {
    return html`<p class="fault">Asked again (${retrying.attempt}.): <${VisibleText} text=${retrying.reason} /></p>`;
  }
  return reason && html`<p class="fault">After ${attempts} replies: <${VisibleText} text=${reason} /></p>`;
}

function Gate({ name, set, sure, more = "" }) {
  if (set === null) return null;
  const said = sure === null ? "; the server told no probability" : `, probability ${probability(sure)}`;
  return html`<dt>${name}</dt>
    <dd>
      <b>${set ? "yes" : "no"}</b>${said} ${more && ` (${more})`}
      ${" "}${sure !== null && sure < TOSSED && html`<span class="quiet-text">— near to a tossed coin</span>`}
    </dd>`;
}

function Draft({ cell }) {
  if (cell.draft === null) return null;
  return html`<dt>Draft answer</dt>
    <dd>
      <${VisibleText} text=${cell.draft} />${cell.pDraft !== null && ` (probability ${probability(cell.pDraft)})`}
    </dd>`;
}

function Place({ cell, pass, documents }) {
  const range = `bytes ${formatNumber(cell.start)} to ${formatNumber(cell.end)}`;
  if (pass.level > 1) return html`the memory of ${documentName(documents, cell.document)}, ${range}`;
  return html`${documentName(documents, cell.document)}, ${range}`;
}

function Cost({ usage }) {
  if (usage === null) return null;
  const { prompt, cached, completion, completions } = usage;
  return html`<dt>Cost</dt>
    <dd>
      ${formatNumber(prompt)} tokens read (${formatNumber(cached)} from the cache), ${formatNumber(completion)}
      ${" "}written, in ${counted(completions, "call")}
    </dd>`;
}

/** What the model writes now: it stays at its end, unless somebody has scrolled up in it. */
export function Written({ text }) {
  const place = useRef(null);
  const isAtEnd = useRef(true);
  useLayoutEffect(() => {
    if (isAtEnd.current) place.current.scrollTop = place.current.scrollHeight;
  }, [text]);
  const scrolled = () => {
    const { scrollTop, scrollHeight, clientHeight } = place.current;
    isAtEnd.current = scrollHeight - scrollTop - clientHeight < 8;
  };
  return html`<pre
    class="raw written"
    tabindex="0"
    role="group"
    aria-label="What the model writes"
    ref=${place}
    onScroll=${scrolled}
  ><${VisibleText} text=${text || "…"} /></pre>`;
}
