/** The inbox: all calls that wait for a person, what was asked first before the others, by session and turn. */

import { useLive } from "../live.js";
import { Badge } from "../parts/badge.js";
import { Note } from "../parts/note.js";
import { told } from "../parts/toast.js";
import { html } from "../vendor/htm-preact.js";
import { WaitingTurn } from "./approvals/waiting_turn.js";

/**
 * The inbox.
 * @param {{api: any, live: any, route: any}} props
 */
export function ApprovalsView({ api, live }) {
  const inbox = useLive(live, (state) => state.inbox);
  const isListed = useLive(live, (state) => state.isListed);
  const problem = useLive(live, (state) => state.inboxProblem);
  const turns = byTurn(Object.values(inbox.items));
  const waiting = Object.values(inbox.items).filter((item) => item.decidedElsewhere === null).length;
  return html`<div class="page approvals">
    <header>
      <h1>Approvals</h1>
      <span role="status">
        ${
          waiting > 0
            ? html`<${Badge} mood="warn">${waiting} ${waiting === 1 ? "call waits" : "calls wait"}<//>`
            : html`<span class="visually-hidden">nothing waits</span>`
        }
      </span>
    </header>
    ${turns.map(([turn, items]) => html`<${WaitingTurn} key=${turn} api=${api} live=${live} items=${items} />`)}
    ${problem && html`<${Note} mood="warn">What waits is not shown with this key: ${told(problem)}<//>`}
    ${turns.length === 0 && !problem && (isListed ? html`<${Nothing} />` : html`<${Looking} />`)}
  </div>`;
}

function Looking() {
  return html`<p class="quiet-text">Looking for what waits …</p>`;
}

function Nothing() {
  return html`<section class="card empty">
    <h2>Nothing waits for you</h2>
    <p>
      A call of a tool comes here when its tool asks for a person each time, when the tool port asks for this one call,
      or when a session has read text from outside and the call acts outside or gets data that is not public.
    </p>
    <p>The turn then pauses, for days if need be, and costs no slot. New calls appear here by themselves.</p>
  </section>`;
}

/** Calls by their turns; the turn that has waited longest goes first, its calls in their own order. */
function byTurn(items) {
  const sorted = [...items].sort((one, other) => order(one.asked_at, other.asked_at) || one.call - other.call);
  const turns = new Map();
  for (const item of sorted) turns.set(item.turn, [...(turns.get(item.turn) ?? []), item]);
  return [...turns];
}

function order(one, other) {
  return one < other ? -1 : one > other ? 1 : 0;
}
