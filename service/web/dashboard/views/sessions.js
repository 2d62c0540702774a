/** The sessions: the list beside the one that is looked at. */

import { hrefTo } from "../route.js";
import { html, useState } from "../vendor/htm-preact.js";
import { LogView } from "./log.js";
import { SessionList } from "./session/list.js";
import { NewSession } from "./session/new_session.js";
import { Session } from "./session/session.js";

/**
 * The view.
 * @param {{api: any, live: any, route: {id: string|null, part: string|null}}} props
 */
export function SessionsView({ api, live, route: { id, part } }) {
  const [isBeginning, setIsBeginning] = useState(false);
  return html`<div class="split sessions ${id ? "with-detail" : ""}">
    <${SessionList} api=${api} live=${live} chosen=${id} onNew=${() => setIsBeginning(true)} />
    <div class="detail"><${Detail} api=${api} live=${live} id=${id} part=${part} /></div>
    ${isBeginning && html`<${NewSession} api=${api} live=${live} onClose=${() => setIsBeginning(false)} />`}
  </div>`;
}

function Detail({ api, live, id, part }) {
  if (id === null) return html`<p class="empty">Choose a session, or begin a new one.</p>`;
  if (part === "log") {
    return html`<div class="log-detail">
      <a class="button" href=${hrefTo("sessions", id)}>Back to the conversation</a>
      <${LogView} key=${id} api=${api} id=${id} />
    </div>`;
  }
  return html`<${Session} key=${id} api=${api} live=${live} id=${id} />`;
}
