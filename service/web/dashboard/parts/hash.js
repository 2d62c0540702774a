/** A long hash: its first digits; a click copies the whole one, or shows it where a page may not copy. */

import { html } from "../vendor/htm-preact.js";
import { toast } from "./toast.js";

const FIRST_DIGITS = 10;

/**
 * A hash or a digest.
 * @param {{value: string, what: string, label?: string}} props `what` it is, for those who hear the page: "hash of
 *   record 3"; `label`: the words before its digits
 */
export function Hash({ value, what, label = "" }) {
  const copy = async () => toast((await copyText(value)) ? `Copied the ${what}.` : value);
  return html`<button
    type="button"
    class="quiet small hash mono"
    title=${value}
    aria-label=${`Copy the ${what}, ${digits(value)}`}
    onClick=${copy}
  >
    ${label}${digits(value)}…
  </button>`;
}

/** Its first digits, behind the name of the algorithm. */
function digits(value) {
  return value.slice(value.indexOf(":") + 1).slice(0, FIRST_DIGITS);
}

/**
 * Put a text into the clipboard.
 * @param {string} text
 * @returns {Promise<boolean>} false where the browser does not let a page do so, as over plain HTTP
 */
export async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}
