/** The head of a session: what it is, how full its context is, what it has cost, and what can be done with it. */

import { Badge, StateBadge } from "../../parts/badge.js";
import { Bar } from "../../parts/bar.js";
import { Icon } from "../../parts/icons.js";
import { Menu } from "../../parts/menu.js";
import { hrefTo } from "../../route.js";
import { formatNumber } from "../../state/text.js";
import { html, memo } from "../../vendor/htm-preact.js";

const RECONNECTING = "What is shown may be a little old; nothing is lost.";
const UNTRUSTED = "The conversation holds text from outside, so tools that act outside ask a person first.";

/**
 * The head.
 * @param {{id: string, title: string, state: string, agent: string|null, model: string|null, size: number|null,
 *   used: number, usage: any, parent: any, fork: any, untrusted: boolean, reconnecting: boolean, actions: any}} props
 *   `actions`: what the menu does, by name
 */
export const Header = memo(function Header({
  id,
  title,
  state,
  agent,
  model,
  size,
  used,
  usage,
  reconnecting,
  ...more
}) {
  return html`<header class="session-head">
    <div class="row">
      <a class="button only-narrow" href=${hrefTo("sessions")} aria-label="Back to the list"><${Icon} name="back" /></a>
      <h1 class="one-line grow" title=${title}>${title}</h1>
      ${reconnecting && html`<${Badge} mood="warn" live why=${RECONNECTING}>reconnecting<//>`}
      <${StateBadge} of=${state} />
      <${Actions} id=${id} isBusy=${state !== "idle"} actions=${more.actions} />
    </div>
    <div class="facts">
      <span class="quiet-text one-line">
        ${[agent, model].filter(Boolean).join(" · ")}${(agent || model) && usage.completions > 0 ? " · " : ""}
        ${usage.completions > 0 && totals(usage)}
      </span>
      ${
        more.untrusted &&
        html`<${Badge} mood="warn" why=${UNTRUSTED}>untrusted<//>`
      }
      ${
        size
          ? html`<${Bar} label="Context" value=${used} of=${size} />`
          : html`<span class="quiet-text">${formatNumber(used)} tokens in use</span>`
      }
    </div>
    <${Origin} parent=${more.parent} fork=${more.fork} />
  </header>`;
});

function totals({ prompt, cached, completion, reasoning }) {
  const share = prompt > 0 ? `, ${Math.round((100 * cached) / prompt)} % of it from the cache` : "";
  const thought = reasoning > 0 ? ` (${formatNumber(reasoning)} thought)` : "";
  return `${formatNumber(prompt)} tokens read${share} · ${formatNumber(completion)} written${thought}`;
}

/** Where a session comes from, in words. */
function Origin({ parent, fork }) {
  if (parent) {
    return html`<p class="quiet-text">
      Another agent handed this over: call ${parent.call} of${" "}
      <a href=${hrefTo("sessions", parent.session)}>that session</a>. Its answer goes back there.
    </p>`;
  }
  if (fork) {
    return html`<p class="quiet-text">
      A copy of <a href=${hrefTo("sessions", fork.session)}>another session</a> up to record ${fork.seq}; that one stays
      as it was.
    </p>`;
  }
  return null;
}

function Actions({ id, isBusy, actions }) {
  return html`<${Menu} label="What can be done with this session">
    <button type="button" class="entry quiet" onClick=${actions.rename}>Rename</button>
    <button type="button" class="entry quiet" onClick=${actions.about}>System prompt, tools, limits</button>
    <a class="entry" href=${hrefTo("sessions", id, "log")}>Show the log</a>
    <button type="button" class="entry quiet" onClick=${actions.exportLog}>Export the log</button>
    <button type="button" class="entry quiet" disabled=${isBusy} onClick=${actions.compact}>
      Summarise what is old${isBusy && " (when no turn runs)"}
    </button>
    <button type="button" class="entry quiet danger-text" onClick=${actions.remove}>Delete</button>
  <//>`;
}
