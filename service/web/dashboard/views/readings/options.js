/** How a reading is done, folded away: what is set by itself is right for most. */

import { html, useEffect, useState } from "../../vendor/htm-preact.js";
import { fill, levelOf } from "./draft.js";

const EXITS = {
  never: [
    "Read all of it",
    "The default. It costs calls and loses nothing: models that were not trained for it want to stop too early, in 8 " +
      "to 46 of 100 questions in one study.",
  ],
  measured: [
    "Stop when the answer is sure",
    "It stops when the draft answer has been the same, and at least 99.5 % probable, for three chunks in a row. It " +
      "needs a server that tells probabilities.",
  ],
  asked: ["Stop when the model says so", "It acts on the model's own exit gate: fast, and with most models too early."],
};

const NUMBERS = [
  [
    "memoryBudget",
    "memory_budget",
    "Memory budget, in tokens",
    "1024",
    "How long the notes may get. A context of 4096 tokens wants about 256.",
  ],
  [
    "chunkTokens",
    "chunk_tokens",
    "Tokens in a chunk",
    "what fits",
    "Smaller chunks are more calls, and finer evidence.",
  ],
  [
    "parallel",
    "parallel",
    "Documents at a time",
    "as slots allow",
    "Several documents are read side by side, on as many slots of llama-server.",
  ],
];

/**
 * Set the options.
 * @param {{draft: import("./draft.js").Draft}} props
 */
export function Options({ draft }) {
  const isWrong = NUMBERS.some(([, name]) => draft.fields[name]) || Boolean(draft.fields.exit ?? draft.fields.level);
  const [isOpen, setOpen] = useState(isWrong);
  useEffect(() => {
    // What is wrong must be seen.
    if (isWrong) setOpen(true);
  }, [isWrong]);
  return html`<details class="options" open=${isOpen} onToggle=${(event) => setOpen(event.target.open)}>
    <summary>Options</summary>
    <fieldset disabled=${draft.sending !== null}>
      <legend class="visually-hidden">Options</legend>
      <p class="quiet-text">
        Level ${levelOf(draft)}, set by itself: ${
          levelOf(draft) === 1
            ? "one document is read from its first chunk to its last."
            : "each document is read by itself, and then what was noted of each."
        }
      </p>
      <fieldset class="exits">
        <legend>When it may stop</legend>
        ${Object.entries(EXITS).map(
          ([name, [title, why]]) => html`<label>
            <input
              type="radio"
              name="exit"
              value=${name}
              checked=${draft.exit === name}
              onChange=${() => fill("exit", name)}
            />
            <span>${title} <code>${name}</code><span class="quiet-text">${why}</span></span>
          </label>`,
        )}
      </fieldset>
      <div class="numbers">
        ${NUMBERS.map(
          ([field, name, title, otherwise, why]) => html`<div>
            <label for="reading-${name}">${title}</label>
            <input
              id="reading-${name}"
              inputmode="numeric"
              placeholder=${otherwise}
              value=${draft[field]}
              aria-invalid=${draft.fields[name] ? "true" : undefined}
              aria-describedby="reading-${name}-why"
              onInput=${(event) => fill(field, event.target.value, name)}
            />
            <p id="reading-${name}-why" class=${draft.fields[name] ? "fault" : "quiet-text"}>
              ${draft.fields[name] ? `It ${draft.fields[name]}` : why}
            </p>
          </div>`,
        )}
      </div>
    </fieldset>
  </details>`;
}
