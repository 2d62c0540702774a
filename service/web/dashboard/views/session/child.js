/** The turn of the agent that a conversation was handed over to, within the call that did so. */

import { StateBadge } from "../../parts/badge.js";
import { hrefTo } from "../../route.js";
import { html, useEffect, useState } from "../../vendor/htm-preact.js";

/**
 * A child's turn, folded; it opens by itself when a person is waited for in it.
 * @param {{link: {session: string, turn: string, agent: string, outcome: string|null}, view: any, api: any, live: any,
 *   Turn: any}} props `view`: of the child's session, null before its first event
 */
export function ChildTurn({ link, view, api, live, Turn }) {
  const turn = view?.turns[link.turn] ?? null;
  const isAsking = turn?.state === "awaiting_approval";
  const [open, setOpen] = useState(isAsking);
  useEffect(() => {
    if (isAsking) setOpen(true);
  }, [isAsking]);
  const state = turn === null ? link.outcome : (turn.outcome ?? turn.state);
  return html`<details class="child" open=${open} onToggle=${(event) => setOpen(event.currentTarget.open)}>
    <summary>
      Handed over to <strong>${link.agent}</strong> ${state && html`<${StateBadge} of=${state} />`}
    </summary>
    ${
      open &&
      html`<div class="stack">
      <a href=${hrefTo("sessions", link.session)}>Show its session</a>
      ${
        turn === null
          ? html`<p class="quiet-text">It has not begun yet, or its session was deleted.</p>`
          : html`<${Turn}
            turn=${turn}
            baseline=${view.baseline}
            summaries=${view.summaries}
            childViews=${view.children}
            again=${null}
            busy=${false}
            api=${api}
            live=${live}
          />`
      }
    </div>`
    }
  </details>`;
}
