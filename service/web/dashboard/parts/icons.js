/** A few drawings of lines, 18 pixels square, in the colour of the text beside them. */

import { html } from "../vendor/htm-preact.js";

const PATHS = {
  sessions: "M3 4h12v8H8l-3 3v-3H3z",
  approvals: "M4 9.5l3 3 7-7M3 3h12v12H3z",
  readings: "M9 4.5C7 3 5 3 3 3v11c2 0 4 0 6 1.5C11 14 13 14 15 14V3c-2 0-4 0-6 1.5zM9 4.5v11",
  server: "M3 3h12v5H3zM3 10h12v5H3zM5.5 5.5h.01M5.5 12.5h.01",
  plus: "M9 4v10M4 9h10",
  stop: "M5 5h8v8H5z",
  back: "M11 4L6 9l5 5",
  retry: "M14 9a5 5 0 1 1-1.5-3.5M14 3v3h-3",
  edit: "M3 15l1-4 8-8 3 3-8 8z",
  more: "M4 9h.01M9 9h.01M14 9h.01",
};

/**
 * A drawing; the words beside it say what it means.
 * @param {{name: keyof typeof PATHS}} props
 */
export function Icon({ name }) {
  return html`<svg
    width="18"
    height="18"
    viewBox="0 0 18 18"
    fill="none"
    stroke="currentColor"
    stroke-width="1.6"
    stroke-linecap="round"
    stroke-linejoin="round"
    aria-hidden="true"
  >
    <path d=${PATHS[name]} />
  </svg>`;
}
