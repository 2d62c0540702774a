/** The two answers that need words: a denial with its reason, and an approval with other arguments. */

import { Arguments } from "../../parts/arguments.js";
import { Note } from "../../parts/note.js";
import { faultOf, withEscapes } from "../../state/arguments.js";
import { html, useEffect, useId, useMemo, useRef, useState } from "../../vendor/htm-preact.js";

/** As the service takes it. */
const REASON_CHARACTERS = 2000;

/**
 * Deny a call, with a reason for the model.
 * @param {{item: any, busy: boolean, onDecide: (decision: object) => void, onClose: () => void}} props
 */
export function DenyForm({ item, busy, onDecide, onClose }) {
  const [reason, setReason] = useState("");
  const field = useFocusAtFirst();
  const hint = useId();
  const submit = (event) => {
    event.preventDefault();
    onDecide({ approved: false, ...(reason.trim() && { reason: reason.trim() }) });
  };
  return html`<form class="stack" onSubmit=${submit} onKeyDown=${onEscape(onClose)}>
    <label>
      Why not? (may be left empty)
      <textarea
        ref=${field}
        rows="2"
        maxlength=${REASON_CHARACTERS}
        value=${reason}
        aria-describedby=${hint}
        placeholder="Not to that address; use the one in the order."
        onInput=${(event) => setReason(event.target.value)}
      ></textarea>
    </label>
    <p class="quiet-text" id=${hint}>
      The model is told that a person denied the call, with your words. The same call is denied for the rest of the turn
      without asking again.
    </p>
    <div class="row">
      <button type="submit" class="danger" disabled=${busy}>Deny call ${item.call}</button>
      <button type="button" class="quiet" onClick=${onClose}>Back</button>
    </div>
  </form>`;
}

/**
 * Approve a call with other arguments.
 * @param {{item: any, busy: boolean, onDecide: (decision: object) => void, onClose: () => void}} props
 */
export function EditForm({ item, busy, onDecide, onClose }) {
  const given = useMemo(() => withEscapes(item.arguments), [item.arguments]);
  const [text, setText] = useState(given);
  const field = useFocusAtFirst();
  const hint = useId();
  const fault = faultOf(text);
  const same = text === given;
  const submit = (event) => {
    event.preventDefault();
    if (fault === null && !same) onDecide({ approved: true, arguments: text });
  };
  return html`<form class="stack" onSubmit=${submit} onKeyDown=${onEscape(onClose)}>
    <label>
      Arguments, as JSON
      <textarea
        class="mono"
        ref=${field}
        rows=${Math.min(14, Math.max(4, text.split("\n").length + 1))}
        spellcheck=${false}
        value=${text}
        aria-describedby=${hint}
        aria-invalid=${fault !== null}
        onInput=${(event) => setText(event.target.value)}
      ></textarea>
    </label>
    <p class="quiet-text" id=${hint}>
      The call runs with these. The model is told: its result begins “Ran with arguments changed by the approver”. The
      log keeps what the model asked for as well.
    </p>
    ${
      fault
        ? html`<${Note} mood="bad">${fault}<//>`
        : !same &&
          html`<div class="preview">
            <p class="quiet-text">What will run:</p>
            <${Arguments} text=${text} />
          </div>`
    }
    <div class="row">
      <button type="submit" class="primary" disabled=${busy || fault !== null || same}>Approve with these</button>
      <button type="button" class="quiet" onClick=${onClose}>Back</button>
      ${same && html`<span class="quiet-text">Nothing is changed yet.</span>`}
    </div>
  </form>`;
}

function useFocusAtFirst() {
  const field = useRef(null);
  useEffect(() => field.current.focus(), []);
  return field;
}

function onEscape(close) {
  return (event) => {
    if (event.key === "Escape") close();
  };
}
