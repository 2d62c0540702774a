/** Text from a model or a tool, where a person decides by it: nothing in it is hidden (K5). */

import { formatNumber, visiblePieces } from "../state/text.js";
import { html } from "../vendor/htm-preact.js";

/** What is shown at once; the rest on demand. */
const SHOWN = 20_000;

/**
 * Show a text with its control and direction characters visible.
 * @param {{text: string, limit?: number}} props `limit` in UTF-16 units
 */
export function VisibleText({ text, limit = SHOWN }) {
  const shown = text.length > limit ? text.slice(0, limit) : text;
  const pieces = visiblePieces(shown).map(({ text: piece, control }) =>
    control ? html`<span class="shown-control">${piece}</span>` : piece,
  );
  const rest = text.length - shown.length;
  return html`${pieces}${rest > 0 && html`<span class="badge">… ${formatNumber(rest)} more characters</span>`}`;
}
