/** Small words in a colour that says how things stand; the word alone says it as well. */

import { html } from "../vendor/htm-preact.js";
import { toast } from "./toast.js";

const MOODS = {
  running: "info live",
  queued: "info",
  awaiting_approval: "warn",
  idle: "",
  finished: "",
  answered: "good",
  turn_limit: "warn",
  session_full: "warn",
  failed: "bad",
  cancelled: "",
  ok: "good",
  denied: "bad",
  repeated: "warn",
  unknown_tool: "bad",
  bad_arguments: "bad",
  interrupted: "warn",
  not_run: "warn",
  pending: "warn",
  in_flight: "info live",
  not_found: "warn",
};

/**
 * A badge.
 * @param {{mood?: "good"|"warn"|"bad"|"info"|"", live?: boolean, why?: string, children: any}} props `why`: what it
 *   means, told on hover and when it is pressed; not within a link or a summary
 */
export function Badge({ mood = "", live = false, why, children }) {
  return html`<${Worn} look="${mood} ${live ? "live" : ""}" why=${why}>${children}<//>`;
}

/**
 * The badge of a state, an outcome or a status of the service.
 * @param {{of: string, why?: string}} props
 */
export function StateBadge({ of, why }) {
  return html`<${Worn} look=${MOODS[of] ?? ""} why=${why}>${of.replaceAll("_", " ")}<//>`;
}

function Worn({ look, why, children }) {
  if (!why) return html`<span class="badge ${look}">${children}</span>`;
  const tell = () => toast(why);
  return html`<button type="button" class="badge ${look}" title=${why} onClick=${tell}>${children}</button>`;
}
