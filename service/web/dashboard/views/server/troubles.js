/** What went wrong lately, with the way there. */

import { useLive } from "../../live.js";
import { Badge } from "../../parts/badge.js";
import { SessionLink } from "../../parts/session_link.js";
import { Time } from "../../parts/time.js";
import { VisibleText } from "../../parts/visible_text.js";
import { html, useState } from "../../vendor/htm-preact.js";

const FIRST = 10;

const KINDS = {
  failed: ["turn failed", "bad"],
  turn_limit: ["limit reached", "warn"],
  session_full: ["session full", "warn"],
  attempt: ["tried again", "warn"],
  cache_loss: ["cache lost", ""],
  store_error: ["store", "bad"],
};

/**
 * The last errors, newest first.
 * @param {{api: any, live: any}} props
 */
export function Troubles({ api, live }) {
  const errors = useLive(live, (state) => state.figures.errors);
  const [all, setAll] = useState(false);
  const shown = all ? errors : errors.slice(0, FIRST);
  return html`<section class="troubles stack" aria-label="What went wrong">
    <h2>What went wrong</h2>
    ${errors.length === 0 && html`<p class="quiet-text">Nothing went wrong in the last records.</p>`}
    ${
      errors.length > 0 &&
      html`<ul class="card">
        ${shown.map((error) => html`<${Trouble} key=${keyOf(error)} api=${api} live=${live} error=${error} />`)}
      </ul>`
    }
    ${
      shown.length < errors.length &&
      html`<div>
        <button type="button" class="small" onClick=${() => setAll(true)}>Show all ${errors.length}</button>
      </div>`
    }
  </section>`;
}

function keyOf({ time, session, turn, kind }) {
  return [time, session, turn, kind].join("/");
}

function Trouble({ api, live, error: { time, session, kind, detail } }) {
  const [name, mood] = KINDS[kind] ?? [kind, ""];
  return html`<li>
    <${Badge} mood=${mood}>${name}<//>
    <span class="grow"><${VisibleText} text=${detail ?? ""} limit=${600} /></span>
    <span class="where">
      ${session && html`<${SessionLink} api=${api} live=${live} id=${session} agent=${false} />`}
      ${time && html`<${Time} at=${time} />`}
    </span>
  </li>`;
}
