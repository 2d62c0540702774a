/** A text that may be long: its beginning, and the rest on demand. Nothing in it is hidden. */

import { html, useState } from "../vendor/htm-preact.js";
import { formatNumber } from "../state/text.js";
import { VisibleText } from "./visible_text.js";

const LINES = 10;
const CHARACTERS = 700;

/** Where the beginning of a text ends; the whole length for a short one. */
function endOfBeginning(text) {
  let end = -1;
  for (let line = 0; line < LINES; line += 1) {
    end = text.indexOf("\n", end + 1);
    if (end < 0 || end > CHARACTERS) return text.length > CHARACTERS * 1.5 ? CHARACTERS : text.length;
  }
  return end;
}

/**
 * Show a text, folded where it is long.
 * @param {{text: string, class?: string, whole?: {label: string, open: () => void, busy: boolean}|null}} props
 *   `whole`: a way to fetch more than is here
 */
export function FoldedText({ text, class: look = "", whole = null }) {
  const [open, setOpen] = useState(false);
  const end = endOfBeginning(text);
  const isLong = end < text.length;
  return html`<div class="folded-text ${look}">
    <div class="text">
      <${VisibleText} text=${open ? text : text.slice(0, end)} limit=${Infinity} />${isLong && !open && " …"}
    </div>
    ${
      (isLong || whole) &&
      html`<div class="row">
        ${
          isLong &&
          html`<button type="button" class="quiet small" aria-expanded=${open} onClick=${() => setOpen(!open)}>
            ${open ? "Show less" : `Show all ${formatNumber(text.length)} characters`}
          </button>`
        }
        ${
          whole &&
          html`<button type="button" class="quiet small" disabled=${whole.busy} onClick=${whole.open}>
            ${whole.label}
          </button>`
        }
      </div>`
    }
  </div>`;
}
