/** How much of something is used up. */

import { formatNumber } from "../state/text.js";
import { html } from "../vendor/htm-preact.js";

/**
 * A bar with a caption.
 * @param {{label: string, value: number, of: number, text?: string, warnAt?: number}} props `warnAt`: the share from
 *   which on it is marked
 */
export function Bar({ label, value, of, text = `${formatNumber(value)} / ${formatNumber(of)}`, warnAt = 0.8 }) {
  const share = of > 0 ? Math.min(1, value / of) : 0;
  const mood = share >= 1 ? "bad" : share >= warnAt ? "warn" : "";
  return html`<div
    class="bar ${mood}"
    role="meter"
    aria-label=${label}
    aria-valuemin="0"
    aria-valuemax=${of}
    aria-valuenow=${Math.min(value, of)}
    aria-valuetext=${text}
  >
    <div class="caption"><span>${label}</span><span>${text}</span></div>
    <div class="track"><div class="fill" style=${{ width: `${share * 100}%` }}></div></div>
  </div>`;
}
