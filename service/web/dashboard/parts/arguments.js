/** The arguments of a call, laid out: one line for each, or the raw text where it is no object. */

import { parsedArguments } from "../state/arguments.js";
import { html } from "../vendor/htm-preact.js";
import { VisibleText } from "./visible_text.js";

/**
 * Lay out the arguments of a call.
 * @param {{text: string, limit?: number}} props the raw text that the model wrote; what of each text is shown
 */
export function Arguments({ text, limit }) {
  const given = parsedArguments(text);
  if (given === null) {
    return html`<pre class="raw" tabindex="0"><${VisibleText} text=${text || "(empty)"} limit=${limit} /></pre>`;
  }
  const names = Object.keys(given);
  if (names.length === 0) return html`<p class="quiet-text">no arguments</p>`;
  return html`<dl class="arguments">
    ${names.map(
      (name) => html`<dt><${VisibleText} text=${name} /></dt>
        <dd><${VisibleText} text=${shown(given[name])} limit=${limit} /></dd>`,
    )}
  </dl>`;
}

/** A text as it is, all else as JSON. */
function shown(value) {
  return typeof value === "string" ? value : JSON.stringify(value, null, 2);
}
