/** How a turn ended, what it cost, and what can be done then. */

import { StateBadge } from "../../parts/badge.js";
import { Note } from "../../parts/note.js";
import { formatDuration, formatNumber } from "../../state/text.js";
import { html, useState } from "../../vendor/htm-preact.js";
import { FORK, limitText, troubleAdvice, troubleName } from "./words.js";

/**
 * The end of a turn.
 * @param {{turn: any, onRetry: () => void, busy: boolean}} props
 */
export function Outcome({ turn, onRetry, busy }) {
  return html`<footer class="outcome stack">
    <${Why} turn=${turn} />
    ${
      turn.outcome === "failed" &&
      turn.content !== null &&
      html`<div class="row">
        <button type="button" class="primary" disabled=${busy} onClick=${onRetry}>Retry</button>
        <span class="quiet-text">${FORK}</span>
      </div>`
    }
    <${Cost} turn=${turn} />
  </footer>`;
}

function Why({ turn }) {
  const { outcome, limit, truncated, error } = turn;
  if (outcome === "failed") return html`<${Failure} error=${error ?? { kind: "internal", message: "" }} />`;
  if (outcome === "session_full") {
    return html`<${Note} mood="warn">
      The context is full and nothing more could be summarised. A shorter message may still fit; else begin a new
      session, or give the server a larger context (--ctx-size). ${error?.message}
    <//>`;
  }
  if (outcome === "cancelled") return html`<${Note}>Stopped. What had come until then is kept.<//>`;
  if (limit) {
    const { what, setting } = limitText(limit);
    const how = outcome === "answered" ? "The model was asked to come to an end" : "The turn was ended";
    return html`<${Note} mood="warn">${how}: ${what}. The setting <code>${setting}</code> changes it.<//>`;
  }
  if (truncated) {
    return html`<${Note} mood="warn">
      The answer was cut: <code>max_tokens</code>, or the end of the context, was reached.
    <//>`;
  }
  return null;
}

function Failure({ error: { kind, message, status } }) {
  return html`<${Note} mood="bad">
    <strong>This failed: ${troubleName(kind)}${status ? ` (status ${status})` : ""}.</strong> ${message}
    <div>${troubleAdvice(kind)}</div>
  <//>`;
}

/** Tokens, the share of the prompt that was in the cache, and the time; each step on demand. */
function Cost({ turn }) {
  const [open, setOpen] = useState(false);
  const { usage, startedAt, finishedAt, outcome } = turn;
  const took = startedAt && finishedAt ? formatDuration(Date.parse(finishedAt) - Date.parse(startedAt)) : null;
  const steps = turn.steps.filter((step) => step.usage !== null);
  const line = [
    took,
    usage.completions > 0 && `${formatNumber(usage.prompt + usage.completion)} tokens`,
    usage.prompt > 0 && `${Math.round((100 * usage.cached) / usage.prompt)} % of the prompt from the cache`,
  ].filter(Boolean);
  const badge = html`<${StateBadge} of=${outcome} />`;
  if (steps.length === 0) return html`<div class="row cost">${badge}<span>${line.join(" · ")}</span></div>`;
  return html`<details class="cost" onToggle=${(event) => setOpen(event.currentTarget.open)}>
    <summary title="Show each step">${badge}<span>${line.join(" · ")}</span></summary>
    ${open && html`<${Steps} steps=${steps} />`}
  </details>`;
}

const COLUMNS = ["Step", "Prompt", "From the cache", "Written", "Of it thought", "Reading", "Writing"];

function Steps({ steps }) {
  return html`<div class="scrolled" tabindex="0" role="region" aria-label="Usage of each step">
    <table>
      <thead>
        <tr>${COLUMNS.map((name) => html`<th scope="col">${name}</th>`)}</tr>
      </thead>
      <tbody>
        ${steps.map(
          ({ number, usage }) => html`<tr>
            <td>${number}</td>
            <td>${formatNumber(usage.promptTokens)}</td>
            <td>${formatNumber(usage.cachedTokens)}</td>
            <td>${formatNumber(usage.completionTokens)}${usage.estimated && " (estimated)"}</td>
            <td>${formatNumber(usage.reasoningTokens)}</td>
            <td>${duration(usage.timings?.prompt_ms)}</td>
            <td>${rate(usage.timings?.predicted_per_second)}</td>
          </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}

function duration(ms) {
  return ms == null ? "–" : formatDuration(ms);
}

function rate(perSecond) {
  return perSecond ? `${perSecond.toFixed(1)} tokens/s` : "–";
}
