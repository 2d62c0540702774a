/** The list of readings beside the one that is chosen. */

import { StateBadge } from "../../parts/badge.js";
import { useBusy } from "../../parts/busy.js";
import { Icon } from "../../parts/icons.js";
import { Note } from "../../parts/note.js";
import { Time } from "../../parts/time.js";
import { orToast, told } from "../../parts/toast.js";
import { hrefTo } from "../../route.js";
import { clip, formatNumber, visible } from "../../state/text.js";
import { html, memo } from "../../vendor/htm-preact.js";

const QUERY_SHOWN = 140;
const NAMES_SHOWN = 2;
/** That the service is away or wants a key is told on top of the page, or in its place. */
const TOLD_ELSEWHERE = [0, 401];

/**
 * The list.
 * @param {{listing: any, chosen: string|null, isNew: boolean}} props
 */
export function ReadingList({ listing, chosen, isNew }) {
  const { items, next, isLoaded, problem, more } = listing;
  const [busy, run] = useBusy();
  const older = () => run(() => orToast(more()));
  return html`<section class="list" aria-label="Readings">
    <div class="head">
      <div class="row spread">
        <${chosen === null ? "h1" : "h2"}>Readings<//>
        <a
          class="button"
          href=${hrefTo("readings", "new")}
          aria-current=${isNew ? "page" : undefined}
        ><${Icon} name="plus" />New</a>
      </div>
    </div>
    ${
      problem &&
      !TOLD_ELSEWHERE.includes(problem.status) &&
      html`<${Note} mood="warn">The list may be old: ${told(problem)}<//>`
    }
    ${
      isLoaded && items.length === 0
        ? html`<div class="empty">
          <p>
            No reading yet. A reading answers one question over text that is longer than the model's context, such as a
            contract, a log or a book, and shows where each note came from.
          </p>
          <a class="button only-narrow" href=${hrefTo("readings", "new")}>Begin one</a>
        </div>`
        : html`<ul class="items">
          ${!isLoaded && !problem && html`<li class="quiet-text">Loading …</li>`}
          ${items.map((reading) => html`<${Row}
            key=${reading.id}
            reading=${reading}
            isChosen=${reading.id === chosen}
          />`)}
          ${
            next !== null &&
            html`<li class="older"><button
              type="button"
              class="small"
              disabled=${busy}
              onClick=${older}
            >Older readings</button></li>`
          }
        </ul>`
    }
  </section>`;
}

const Row = memo(function Row({ reading, isChosen }) {
  const { id, query, state, outcome, created_at: created, documents } = reading;
  return html`<li>
    <a class="item" href=${hrefTo("readings", id)} aria-current=${isChosen ? "page" : undefined}>
      <span class="asked">${visible(clip(query, QUERY_SHOWN), { keep: "" })}</span>
      <span class="row">
        <${StateBadge} of=${outcome ?? state} />
        ${state === "running" && html`<span class="quiet-text">${howFar(reading)}</span>`}
        <span class="quiet-text when"><${Time} at=${created} /></span>
      </span>
      <span class="quiet-text one-line names">${names(documents)}</span>
    </a>
  </li>`;
});

function howFar({ chunks_seen: seen, documents, options }) {
  const chunks = documents.reduce((sum, document) => sum + (document.chunks ?? 0), 0);
  return `${formatNumber(seen)} of ${formatNumber(chunks + (options.level > 1 ? documents.length : 0))}`;
}

function names(documents) {
  const shown = documents.slice(0, NAMES_SHOWN).map(({ name }) => visible(clip(name, 80), { keep: "" }));
  const rest = documents.length - shown.length;
  return `${shown.join(", ")}${rest > 0 ? ` and ${formatNumber(rest)} more` : ""}`;
}
