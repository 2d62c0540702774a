/** The head of a reading: its question, how it stands, what it cost so far; and the button that ends it. */

import { readingPath } from "../../net/paths.js";
import { StateBadge } from "../../parts/badge.js";
import { Hash } from "../../parts/hash.js";
import { Icon } from "../../parts/icons.js";
import { Progress } from "../../parts/progress.js";
import { Time } from "../../parts/time.js";
import { orToast } from "../../parts/toast.js";
import { VisibleText } from "../../parts/visible_text.js";
import { hrefTo } from "../../route.js";
import { formatBytes, formatDuration, formatNumber, visible } from "../../state/text.js";
import { html, useState } from "../../vendor/htm-preact.js";
import { counted } from "./words.js";

/** A question of more characters scrolls by itself. */
const LONG = 120;

const WAITS = {
  slot_busy: "It waits for a free slot of llama-server",
  idle: "It waits: llama-server is there, and answers nothing yet",
  loading: "It waits: llama-server is loading its model",
};

/**
 * The head.
 * @param {{view: any, connection: string, api: any, onAgain: () => void, onChanged: (reading: any) => void}} props
 */
export function Head({ view, connection, api, onAgain, onChanged }) {
  const isOver = view.state === "finished";
  const isLong = view.query.length > LONG;
  return html`<header class="reading-head">
    <a class="button only-narrow" href=${hrefTo("readings")}><${Icon} name="back" />All readings</a>
    <div class="row spread top">
      <h1 class="grow ${isLong ? "long" : ""}" tabindex=${isLong ? 0 : undefined}>
        <${VisibleText} text=${view.query} limit=${2000} />
      </h1>
      ${
        isOver
          ? html`<button
            type="button"
            onClick=${onAgain}
            title="The question and the options are kept; choose the documents again"
          >
            <${Icon} name="retry" />Ask again
          </button>`
          : html`<${Cancel} view=${view} api=${api} onChanged=${onChanged} />`
      }
    </div>
    <div class="row">
      <${StateBadge} of=${view.outcome ?? view.state} />
      <span class="quiet-text"><${Time} at=${view.createdAt} />${took(view)}</span>
      <span class="quiet-text" title=${view.model ?? undefined}>${optionsSaid(view)}</span>
    </div>
    ${!isOver && html`<${Going} view=${view} connection=${connection} />`}
    <${Figures} view=${view} />
    <${DocumentsRead} documents=${view.documents} />
  </header>`;
}

function took({ createdAt, finishedAt }) {
  return finishedAt && `, took ${formatDuration(new Date(finishedAt) - new Date(createdAt))}`;
}

function optionsSaid({ options, plan, model }) {
  const said = [
    `level ${options.level}`,
    `exit ${options.exit}`,
    `memory of ${formatNumber(options.memory_budget)} tokens`,
  ];
  if (plan) said.push(`chunks of ${formatNumber(plan.chunkTokens)} tokens`);
  // Some servers name the file.
  if (model) said.push(visible(model.slice(model.lastIndexOf("/") + 1), { keep: "" }));
  return said.join(" · ");
}

function Cancel({ view, api, onChanged }) {
  const [busy, setBusy] = useState(false);
  const cancel = async () => {
    setBusy(true);
    const reading = await orToast(api.post(`${readingPath(view.id)}/cancel`));
    // Its end comes by the stream; where it was refused it may be tried again.
    if (reading === undefined) setBusy(false);
    else onChanged(reading);
  };
  return html`<button
    type="button"
    class="danger"
    disabled=${busy}
    onClick=${cancel}
  ><${Icon} name="stop" />${busy ? "Cancelling …" : "Cancel"}</button>`;
}

/** How far it is; what it waits for. */
function Going({ view, connection }) {
  const planned = view.passes.reduce(
    (sum, pass) => sum + (pass.level === 1 ? pass.cells.length : view.documents.length),
    0,
  );
  const of = view.progress?.of ?? planned;
  const seen = Math.max(view.progress?.seen ?? 0, view.seen);
  const { tokensPerSecond = null, leftMs = null } = view.progress ?? {};
  const said = [
    of > 0 && `chunk ${formatNumber(Math.min(seen + 1, of))} of ${formatNumber(of)}`,
    tokensPerSecond !== null && `${tokensPerSecond.toFixed(tokensPerSecond < 10 ? 1 : 0)} tokens/s`,
    leftMs !== null &&
      `about ${formatDuration(Math.max(1000, Math.round(leftMs / 1000) * 1000)).replace(/\.0 s$/, " s")} left`,
  ].filter(Boolean);
  return html`<div class="going">
    ${
      view.passes.length > 0
        ? html`<${Progress}
          label=${view.drafting ? "The answer is being written" : "Reading"}
          value=${seen}
          of=${of}
          text=${said.join(" · ")}
        />`
        : html`<${Progress} label="The text is being cut into chunks" />`
    }
    <p class="quiet-text waits">${waitSaid(view, connection)}</p>
  </div>`;
}

function waitSaid({ queuedPosition, waiting, shuttingDown, storeError }, connection) {
  if (connection !== "live") return "Connecting … The reading goes on without this page, and nothing of it is lost.";
  if (shuttingDown) return "The service is stopping. It goes on behind the last whole chunk when it is back.";
  if (storeError) return "The database can't be written at the moment; the service tries again.";
  if (waiting) return `${WAITS[waiting.reason] ?? "It waits"}, for ${formatDuration(waiting.waitedMs)} now.`;
  if (queuedPosition !== null) return `It waits for its turn; place ${formatNumber(queuedPosition)} in the queue.`;
  return "";
}

function Figures({ view }) {
  const { prompt, cached, completion } = view.usage;
  const figures = [
    ["Chunks read", formatNumber(view.seen)],
    ["of use", formatNumber(view.used)],
    ["Calls", formatNumber(view.calls)],
    ["Tokens read", formatNumber(prompt)],
    ["from the cache", prompt > 0 ? `${Math.round((100 * cached) / prompt)} %` : "–"],
    ["Tokens written", formatNumber(completion)],
  ];
  if (view.exitsRefused > 0) figures.push(["Exits refused", formatNumber(view.exitsRefused)]);
  return html`<dl class="figures">
    ${figures.map(([name, value]) => html`<div key=${name}><dt>${name}</dt><dd>${value}</dd></div>`)}
  </dl>`;
}

function DocumentsRead({ documents }) {
  const bytes = documents.reduce((sum, document) => sum + document.bytes, 0);
  const [first] = documents;
  return html`<details class="read-documents">
    <summary>
      ${
        documents.length === 1
          ? html`<${VisibleText} text=${first.name} limit=${200} />, ${formatBytes(bytes)} of text`
          : `${formatNumber(documents.length)} documents, ${formatBytes(bytes)} of text`
      }
    </summary>
    <ol>
      ${documents.map(
        (document, at) => html`<li key=${at}>
          <${VisibleText} text=${document.name} limit=${600} />
          <span class="quiet-text">
            ${" "}${document.mediaType}, ${formatBytes(document.bytes)}
            ${document.chunks !== null && `, ${counted(document.chunks, "chunk")}`}
          </span>
          ${" "}<${Hash} value=${document.sha256} what="SHA-256 of its text" label="sha256 " />
        </li>`,
      )}
    </ol>
  </details>`;
}
