/** The memory as it grows: what it is now, each one before with what changed, and the evidence behind it. */

import { Hash } from "../../parts/hash.js";
import { Time } from "../../parts/time.js";
import { VisibleText } from "../../parts/visible_text.js";
import { chainOf } from "../../state/reading.js";
import { formatNumber } from "../../state/text.js";
import { html, memo, useMemo, useState } from "../../vendor/htm-preact.js";
import { counted, documentName, passName } from "./words.js";
import { wordDiff } from "./word_diff.js";

/** Steps that are shown at once. */
const SHOWN = 30;

/**
 * The memory of the pass that is chosen, or else the last one that changed.
 * @param {{view: any, chosenPass: string|null, onPass: (key: string) => void}} props
 */
export const Memories = memo(
  function Memories({ view, chosenPass, onPass }) {
    const { passes, memories, documents } = view;
    const last = memories.at(-1);
    const pass = passes.find(({ key }) => key === chosenPass) ?? (last && passOfMemory(passes, last)) ?? passes[0];
    const steps = useMemo(() => memories.filter((memory) => pass && isOfPass(memory, pass)), [memories, pass?.key]);
    return html`<section class="card memories" aria-label="Memory">
      <div class="inside stack">
        <div class="row spread">
          <h2>Memory</h2>
          ${
            passes.length > 1 &&
            html`<label class="row">
            <span class="quiet-text">of</span>
            <select value=${pass?.key} onChange=${(event) => onPass(event.target.value)}>
              ${passes.map((one) => html`<option key=${one.key} value=${one.key}>${passName(one, documents)}</option>`)}
            </select>
          </label>`
          }
        </div>
        <${Now} memory=${steps.at(-1)} budget=${view.options.memory_budget} isOver=${view.state === "finished"} />
        <${Steps} key=${pass?.key} steps=${steps} view=${view} />
      </div>
    </section>`;
  },
  (before, after) =>
    before.chosenPass === after.chosenPass &&
    before.onPass === after.onPass &&
    before.view.memories === after.view.memories &&
    before.view.state === after.view.state &&
    before.view.documents === after.view.documents &&
    before.view.passes.length === after.view.passes.length,
);

function isOfPass(memory, pass) {
  return memory.level === pass.level && (pass.level > 1 || memory.document === pass.document);
}

function passOfMemory(passes, memory) {
  return passes.find((pass) => isOfPass(memory, pass));
}

function Now({ memory, budget, isOver }) {
  if (!memory) {
    const said = isOver
      ? "Nothing was noted: the memory stayed empty."
      : "Nothing is noted yet. The memory is empty until a chunk is of use.";
    return html`<p class="quiet-text">${said}</p>`;
  }
  return html`<pre
    class="raw memory-now"
    tabindex="0"
    role="group"
    aria-label="The memory now"
  ><${VisibleText} text=${memory.text} /></pre>
    <p class="quiet-text">${formatNumber(memory.tokens)} of at most ${formatNumber(budget)} tokens</p>`;
}

/** How it came about, newest first; the newest is open unless somebody says otherwise. */
function Steps({ steps, view }) {
  const [all, setAll] = useState(false);
  const [opened, setOpened] = useState({});
  if (steps.length === 0) return null;
  const newestFirst = steps.map((memory, at) => ({ memory, before: steps[at - 1]?.text ?? "" })).reverse();
  const shown = all ? newestFirst : newestFirst.slice(0, SHOWN);
  return html`<h3>How it came about</h3>
    <ol class="steps" reversed start=${steps.length}>
      ${shown.map(({ memory, before }, at) => {
        const isOpen = opened[memory.seq] ?? at === 0;
        const toggle = (open) => open !== isOpen && setOpened((now) => ({ ...now, [memory.seq]: open }));
        return html`<li key=${memory.seq}>
          <details open=${isOpen} onToggle=${(event) => toggle(event.target.open)}>
            <summary><${StepTitle} memory=${memory} view=${view} /></summary>
            ${isOpen && html`<${Step} memory=${memory} before=${before} view=${view} />`}
          </details>
        </li>`;
      })}
    </ol>
    ${
      shown.length < steps.length &&
      html`<button type="button" onClick=${() => setAll(true)}>Show all ${formatNumber(steps.length)}</button>`
    }`;
}

function StepTitle({ memory, view }) {
  const where =
    memory.level > 1
      ? `memory of ${documentName(view.documents, memory.document)}`
      : `chunk ${formatNumber(memory.chunk)}`;
  const tokens = counted(memory.tokens, "token");
  return html`from ${where} <span class="quiet-text">${tokens}, <${Time} at=${memory.time} /></span>`;
}

/**
 * One memory: what changed, its hash, and what it was made from.
 * @param {{memory: any, before: string, view: any}} props
 */
function Step({ memory, before, view }) {
  const changes = useMemo(() => wordDiff(before, memory.text), [memory, before]);
  return html`<div class="step">
    <div class="diff" tabindex="0" role="group" aria-label="What changed">
      ${changes.map(({ kind, text }) => html`<${Changed} kind=${kind} text=${text} />`)}
    </div>
    <p class="row quiet-text">
      This memory <${Hash} value=${memory.sha256} what="SHA-256 of this memory" label="sha256 " />
    </p>
    <${EvidenceOf} memory=${memory} view=${view} />
  </div>`;
}

function Changed({ kind, text }) {
  const shown = html`<${VisibleText} text=${text} />`;
  if (kind === "added") return html`<ins>${shown}</ins>`;
  return kind === "removed" ? html`<del>${shown}</del>` : shown;
}

function EvidenceOf({ memory, view }) {
  const [sha256, parent] = memory.parents;
  const from = memory.level > 1 ? view.memoryBySha[sha256] : undefined;
  const pass = passOfMemory(view.passes, memory);
  const { start, end } = pass.cells[memory.chunk - 1];
  const range = `${formatNumber(start)} to ${formatNumber(end)}`;
  return html`<div class="evidence">
    <p>
      <b>Evidence</b>${" "}
      ${
        memory.level > 1
          ? `the memory of ${documentName(view.documents, memory.document)}`
          : `${documentName(view.documents, memory.document)}, bytes ${range}`
      }
      ${" "}<${Hash} value=${sha256} what="SHA-256 of the evidence" label="sha256 " />
    </p>
    ${from && html`<${ChainBelow} memory=${from} view=${view} />`}
    ${
      parent
        ? html`<p>
            <b>Memory before</b> <${Hash} value=${parent} what="SHA-256 of the memory before" label="sha256 " />
          </p>`
        : html`<p class="quiet-text">It is the first memory.</p>`
    }
  </div>`;
}

/** The memory of a document that was read as evidence, with the chain that it has of its own. */
function ChainBelow({ memory, view }) {
  const [open, setOpen] = useState(false);
  return html`<pre
    class="raw"
    tabindex="0"
    role="group"
    aria-label="The text of the evidence"
  ><${VisibleText} text=${memory.text} /></pre>
    <details open=${open} onToggle=${(event) => setOpen(event.target.open)}>
      <summary>Where that came from</summary>
      ${open && html`<${Chain} sha256=${memory.sha256} view=${view} />`}
    </details>`;
}

/**
 * The chain of a memory back over its parents.
 * @param {{sha256: string, view: any}} props
 */
export function Chain({ sha256, view }) {
  const chain = useMemo(() => chainOf(view, sha256), [view.memories, sha256]);
  const [all, setAll] = useState(false);
  const shown = all ? chain : chain.slice(0, SHOWN);
  return html`<ol class="steps" reversed start=${chain.length}>
      ${shown.map(
        (memory, at) => html`<li key=${memory.seq}>
          <p><${StepTitle} memory=${memory} view=${view} /></p>
          <${Step} memory=${memory} before=${chain[at + 1]?.text ?? ""} view=${view} />
        </li>`,
      )}
    </ol>
    ${shown.length < chain.length && html`<button
      type="button"
      onClick=${() => setAll(true)}
    >Show all ${formatNumber(chain.length)}</button>`}`;
}
