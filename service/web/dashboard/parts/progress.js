/** How far something is that takes a while. */

import { html } from "../vendor/htm-preact.js";

/**
 * A bar that fills; without `value` nobody knows how far it is, only that it goes on.
 * @param {{label: string, value?: number|null, of?: number, text?: string}} props
 */
export function Progress({ label, value = null, of = 1, text = "" }) {
  const isKnown = value !== null;
  const share = isKnown && of > 0 ? Math.min(1, value / of) : 0;
  return html`<div
    class="bar progress ${isKnown ? "" : "unknown"}"
    role="progressbar"
    aria-label=${label}
    aria-valuemin=${isKnown ? 0 : undefined}
    aria-valuemax=${isKnown ? of : undefined}
    aria-valuenow=${isKnown ? Math.min(value, of) : undefined}
    aria-valuetext=${text || undefined}
  >
    <div class="caption"><span>${label}</span><span>${text}</span></div>
    <div class="track"><div class="fill" style=${isKnown ? { width: `${share * 100}%` } : undefined}></div></div>
  </div>`;
}
