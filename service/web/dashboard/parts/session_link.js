/** Which session something belongs to: its title as a link, and the agent that runs in it. */

import { useLive } from "../live.js";
import { sessionPath } from "../net/paths.js";
import { hrefTo } from "../route.js";
import { visible } from "../state/text.js";
import { html, useEffect, useState } from "../vendor/htm-preact.js";

/**
 * A session by its title, or by its id where it has none.
 * @param {{api: any, live: any, id: string, agent?: boolean}} props `agent`: its name beside the link
 */
export function SessionLink(props) {
  // What was fetched of another one is nothing to start with.
  return html`<${Known} key=${props.id} ...${props} />`;
}

function Known({ api, live, id, agent = true }) {
  const listed = useLive(live, (state) => state.list.rows[id] ?? null);
  const [fetched, setFetched] = useState(null);
  const known = listed ?? fetched;
  useEffect(() => {
    // Old sessions and those of other agents are not in the list that is loaded.
    if (listed !== null) return undefined;
    const left = new AbortController();
    api.get(sessionPath(id), { signal: left.signal }).then(setFetched, () => {});
    return () => left.abort();
  }, [api, id, listed === null]);
  return html`<span class="session-link">
    <a href=${hrefTo("sessions", id)}>${visible(known?.title ?? "", { keep: "" }) || shortId(id)}</a>
    ${agent && known?.agent && html` <span class="badge">agent ${known.agent}</span>`}
  </span>`;
}

/**
 * The end of an id, which tells it from others of the same day.
 * @param {string} id like "ses_01jh8w3n"
 */
export function shortId(id) {
  const [kind, rest = ""] = id.split("_");
  return rest.length > 8 ? `${kind}_…${rest.slice(-6)}` : id;
}
