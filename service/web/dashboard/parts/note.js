/** A line that explains something that happened. */

import { html } from "../vendor/htm-preact.js";

/**
 * A note.
 * @param {{mood?: "info"|"warn"|"bad"|"good"|"", alert?: boolean, children: any}} props `alert`: read out at once
 */
export function Note({ mood = "", alert = false, children }) {
  return html`<div class="note ${mood}" role=${alert ? "alert" : undefined}><div class="grow">${children}</div></div>`;
}
