/** Where decisions must be signed: the command that signs on the approver's machine, and a place for what it prints. */

import { copyText } from "../../parts/hash.js";
import { saveFile } from "../../parts/save_file.js";
import { Note } from "../../parts/note.js";
import { html, useState } from "../../vendor/htm-preact.js";

/**
 * Help with a signature; this page never sees a private key.
 * @param {{item: any, busy: boolean, deny: boolean, onDecide: (decision: object) => void}} props `deny`: what was tried
 */
export function SigningHelp({ item, busy, deny, onDecide }) {
  const [answer, setAnswer] = useState(deny ? "deny" : "approve");
  const [printed, setPrinted] = useState("");
  const [fault, setFault] = useState(null);
  const [copied, setCopied] = useState(false);
  const file = `call-${item.call}.json`;
  const command = `turnkeeper sign ${file} --key NAME --key-file NAME.pem --${answer}`;
  const submit = (event) => {
    event.preventDefault();
    const { decision, problem } = signedDecision(printed, item);
    setFault(problem);
    if (decision) onDecide(decision);
  };
  return html`<div class="signing stack">
    <p>
      This service takes signed decisions alone, so that neither a stolen key of the API nor a changed database decides.
      Sign on the machine that holds your private key:
    </p>
    <ol>
      <li>
        <button
          type="button"
          class="small"
          onClick=${() => saveFile(file, JSON.stringify(pending(item)), "application/json")}
        >
          Save the call as ${file}
        </button>
      </li>
      <li>
        ${"Run "}
        <select
          class="small"
          aria-label="What you decide"
          value=${answer}
          onChange=${(event) => setAnswer(event.target.value)}
        >
          <option value="approve">to approve</option>
          <option value="deny">to deny</option>
        </select>
        <pre class="raw" tabindex="0">${command}</pre>
        <button type="button" class="small" onClick=${async () => setCopied(await copyText(command))}>
          ${copied ? "Copied" : "Copy the command"}
        </button>
        <p class="quiet-text">
          ${answer === "approve" ? "Other arguments: add --arguments '{…}'." : 'Words for the model: add --reason "…".'}
          ${" It shows the call once more before it signs."}
        </p>
      </li>
      <li>
        <form class="stack" onSubmit=${submit}>
          <label>
            Paste what it printed
            <textarea
              class="mono"
              rows="3"
              spellcheck=${false}
              value=${printed}
              placeholder='{"decisions": [{"call": ${item.call}, …, "signature": {…}}]}'
              onInput=${(event) => {
                setPrinted(event.target.value);
                setFault(null);
              }}
            ></textarea>
          </label>
          ${fault && html`<${Note} mood="bad" alert>${fault}<//>`}
          <div class="row">
            <button type="submit" class="primary" disabled=${busy || !printed.trim()}>Send the signed decision</button>
          </div>
        </form>
      </li>
    </ol>
  </div>`;
}

const PENDING = [
  "session",
  "turn",
  "call",
  "tool_call_id",
  "name",
  "title",
  "arguments",
  "digest",
  "reason",
  "asked_at",
  "expires_at",
];

/** The call as the service lists it, without what the page adds. */
function pending(item) {
  return Object.fromEntries(PENDING.map((name) => [name, item[name] ?? null]));
}

/** Read what `turnkeeper sign` printed, and see that it is of this call. */
function signedDecision(text, item) {
  let decisions;
  try {
    ({ decisions } = JSON.parse(text));
  } catch {
    return { decision: null, problem: "This is no JSON. Paste the whole line that the command printed." };
  }
  const found = Array.isArray(decisions) ? decisions.find((decision) => decision?.call === item.call) : undefined;
  if (!found?.signature)
    return { decision: null, problem: `There is no signed decision on call ${item.call} in this.` };
  if (found.digest !== item.digest)
    return { decision: null, problem: "This was signed for another call: its digest is not the one above." };
  return { decision: found, problem: null };
}
