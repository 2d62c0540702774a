/** The log of a session as a table: each record with its hash, its JSON on demand, the whole as a file. */

import { Note } from "../parts/note.js";
import { formatNumber } from "../state/text.js";
import { html, useState } from "../vendor/htm-preact.js";
import { LogTable } from "./log/table.js";
import { Toolbar } from "./log/toolbar.js";
import { useLog } from "./log/use_log.js";

/**
 * The log of a session.
 * @param {{api: any, id: string}} props
 */
export function LogView({ api, id }) {
  return html`<${Log} key=${id} api=${api} id=${id} />`;
}

function Log({ api, id }) {
  const log = useLog({ api, id });
  const [target, setTarget] = useState(null);
  const jump = async (seq) => {
    setTarget(null);
    const wanted = Math.min(Math.max(1, seq), log.lastSeq);
    if ((await log.jump(wanted)) !== null) setTarget(wanted);
  };
  return html`<section class="log-view" aria-label="Log">
    <h1 class="visually-hidden">Log</h1>
    <${Toolbar} api=${api} id=${id} log=${log} onJump=${jump} />
    <details class="about">
      <summary>What the hashes prove</summary>
      <p>
        A record is never rewritten. Its hash covers the record and the hash before it, so the last hash stands for the
        whole log: change one byte anywhere and all hashes behind it are others.${" "}
        <code>turnkeeper verify ${id}</code> computes them anew and names the first place where one is wrong.
        Whoever can write the database could hash all of it anew; keep the last hash where they can't change it,
        and <code>verify --heads</code> finds that as well.
      </p>
    </details>
    ${log.refusal && html`<${Note} mood="bad" alert>The log could not be fetched: ${log.refusal}<//>`}
    <${Records} log=${log} target=${target} />
  </section>`;
}

function Records({ log, target }) {
  const { page } = log;
  if (page === null) return log.refusal ? null : html`<p class="quiet-text" role="status">Fetching the log …</p>`;
  return html`<${Pages} log=${log} />
    ${
      page.rows.length === 0
        ? html`<p class="empty">
            None of the records ${formatNumber(page.from + 1)} to ${formatNumber(page.to)} is of this kind.
          </p>`
        : html`<div class="table"><${LogTable} key=${page.from} rows=${page.rows} target=${target} /></div>`
    }
    <${Newer} log=${log} />`;
}

function Pages({ log }) {
  const { page, looked, lastSeq, isFiltered } = log;
  const busy = looked !== null;
  const showAll = () => log.choose({ type: "", turn: "" });
  const what = isFiltered ? `${formatNumber(page.rows.length)} found in records` : "Records";
  return html`<nav class="pages row spread" aria-label="Pages of the log">
    <span role="status">
      ${
        busy && isFiltered
          ? `Looked through ${formatNumber(looked)} of ${formatNumber(lastSeq)} …`
          : `${what} ${formatNumber(page.from + 1)} – ${formatNumber(page.to)} of ${formatNumber(lastSeq)}`
      }
    </span>
    <span class="row">
      ${isFiltered && html`<button type="button" class="quiet small" onClick=${showAll}>Show all</button>`}
      <button type="button" class="small" disabled=${busy || !log.hasEarlier} onClick=${log.previous}>Previous</button>
      <button type="button" class="small" disabled=${busy || page.atEnd} onClick=${log.next}>Next</button>
    </span>
  </nav>`;
}

/** A line that says that there is more, so that nothing moves under somebody who reads. */
function Newer({ log }) {
  const { page, lastSeq, filter, looked } = log;
  const count = lastSeq - page.to;
  if (!page.atEnd || count <= 0 || filter.last !== null) return null;
  return html`<button type="button" class="newer" disabled=${looked !== null} onClick=${log.more}>
    ${formatNumber(count)} new ${count === 1 ? "record" : "records"}: show ${count === 1 ? "it" : "them"}
  </button>`;
}
