/** What the service does now and how it is: slots, queue, speed, cache, what went wrong, what there is to work with. */

import { useLive } from "../live.js";
import { hrefTo } from "../route.js";
import { count } from "../state/approvals.js";
import { html } from "../vendor/htm-preact.js";
import { Preferences } from "./preferences.js";
import { Figures } from "./server/figures.js";
import { Health } from "./server/health.js";
import { Registry } from "./server/registry.js";
import { Slots } from "./server/slots.js";
import { Troubles } from "./server/troubles.js";

/**
 * The server.
 * @param {{api: any, live: any, route: any}} props
 */
export function ServerView({ api, live }) {
  const waiting = useLive(live, (state) => count(state.inbox));
  return html`<div class="page server">
    <header>
      <h1>Server</h1>
      ${
        waiting > 0 &&
        html`<a class="button" href=${hrefTo("approvals")}>
          ${`${waiting} ${waiting === 1 ? "call waits" : "calls wait"} for approval`}
        </a>`
      }
    </header>
    <${Health} api=${api} />
    <${Slots} api=${api} live=${live} />
    <${Figures} api=${api} live=${live} />
    <${Troubles} api=${api} live=${live} />
    <${Registry} api=${api} />
    <section class="only-narrow preferences" aria-label="This browser"><${Preferences} api=${api} /></section>
  </div>`;
}
