/** All sessions, newest first: searched, and kept up to date. */

import { useLive } from "../../live.js";
import { Badge, StateBadge } from "../../parts/badge.js";
import { useBusy } from "../../parts/busy.js";
import { Icon } from "../../parts/icons.js";
import { Note } from "../../parts/note.js";
import { Time } from "../../parts/time.js";
import { orToast, told } from "../../parts/toast.js";
import { hrefTo } from "../../route.js";
import { filtered } from "../../state/sessions.js";
import { html, memo, useEffect, useMemo, useRef, useState } from "../../vendor/htm-preact.js";
import { useRowFacts } from "./row_facts.js";
import { rowTitle } from "./row_title.js";

const TYPING_MS = 250;

/**
 * The list.
 * @param {{api: any, live: any, chosen: string|null, onNew: () => void}} props
 */
export function SessionList({ api, live, chosen, onNew }) {
  const list = useLive(live, (state) => state.list);
  const search = useLive(live, (state) => state.search);
  const problem = useLive(live, (state) => state.problem);
  const [text, setText] = useSearch(live);
  const rows = useMemo(() => filtered(list, text), [list, text]);
  const [loading, run] = useBusy();
  const items = useRef(null);
  const isListed = useLive(live, (state) => state.isListed);
  // What is typed and not yet asked for has no next page.
  const next = search.text === text.trim() ? (search.text === "" ? list.next : search.next) : null;
  const empty = nothing({ text: text.trim(), search, isListed, problem });
  return html`<div class="list">
    <div class="head">
      <div class="row spread">
        <${chosen === null ? "h1" : "h2"}>Sessions<//>
        <button type="button" class="primary small" onClick=${onNew}><${Icon} name="plus" />New session</button>
      </div>
      <input
        type="search"
        aria-label="Search in title, agent and id"
        placeholder="Search in title, agent, id"
        value=${text}
        onInput=${(event) => setText(event.target.value)}
        onKeyDown=${(event) => step(event, items.current)}
      />
    </div>
    <ul class="items" ref=${items} aria-label="Sessions" onKeyDown=${(event) => step(event, items.current)}>
      ${rows.map((row) => html`<${Row} key=${row.id} api=${api} row=${row} isChosen=${row.id === chosen} />`)}
      ${rows.length === 0 && html`<li class="empty">${empty}</li>`}
      ${
        next !== null &&
        html`<li class="older"><button
          type="button"
          class="quiet"
          disabled=${loading}
          onClick=${() => run(() => orToast(live.more()))}
        >Load older ones</button></li>`
      }
    </ul>
    ${problem && problem.status > 0 && problem.status !== 401 && html`<${Note} mood="bad">${told(problem)}<//>`}
  </div>`;
}

/** Say why no row is shown. */
function nothing({ text, search, isListed, problem }) {
  if (text !== "") {
    if (search.text !== text) return "Searching …";
    if (search.problem) return `The search failed: ${told(search.problem)}`;
    return search.isComplete ? "No session has this in its title, agent or id." : "Searching …";
  }
  if (isListed) return "There is no session yet. Begin one.";
  return problem ? "The sessions could not be loaded yet." : "Loading …";
}

/** What is typed filters at once; the service is asked when the typing pauses. */
function useSearch(live) {
  const asked = useLive(live, (state) => state.search.text);
  const [text, setText] = useState(asked);
  useEffect(() => {
    const wanted = text.trim();
    if (wanted === asked) return undefined;
    const timer = setTimeout(() => void live.search(wanted), wanted === "" ? 0 : TYPING_MS);
    return () => clearTimeout(timer);
  }, [live, text, asked]);
  return [text, setText];
}

/** Up and down go from one to the next, also from the search into the list. */
function step(event, items) {
  if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
  const links = [...items.querySelectorAll("a, button")];
  const next = links[links.indexOf(document.activeElement) + (event.key === "ArrowDown" ? 1 : -1)];
  if (next === undefined) return;
  event.preventDefault();
  next.focus();
}

const Row = memo(function Row({ api, row, isChosen }) {
  const { place, words, outcome } = useRowFacts(api, row);
  return html`<li ref=${place}>
    <a class="item" href=${hrefTo("sessions", row.id)} aria-current=${isChosen ? "page" : undefined}>
      <span class="row first">
        <span class="one-line grow title">${rowTitle({ ...row, lastText: words })}</span><${Time} at=${row.updatedAt} />
      </span>
      <span class="row second">
        <${HowItStands} row=${row} outcome=${outcome} />
        ${row.queued.length > 0 && html`<${Badge} mood="info">${row.queued.length} queued<//>`}
        ${row.parent && html`<${Badge}>handed over<//>`}
        ${row.fork && html`<${Badge}>copy<//>`}
        <span class="one-line quiet-text">${row.agent ?? ""}</span>
      </span>
    </a>
  </li>`;
});

/** Its state; of an idle one how its last turn ended. */
function HowItStands({ row, outcome }) {
  if (row.pendingCount > 0)
    return html`<${Badge} mood="warn">${row.pendingCount} to decide<//>`;
  if (row.state !== "idle") return html`<${StateBadge} of=${row.state} />`;
  return outcome && html`<${StateBadge} of=${outcome} />`;
}
