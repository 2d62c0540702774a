/** What a turn that goes on is doing: what it waits for, how far it has read, how much of its limits is used up. */

import { turnPath } from "../../net/paths.js";
import { Badge } from "../../parts/badge.js";
import { Bar } from "../../parts/bar.js";
import { useBusy } from "../../parts/busy.js";
import { Elapsed } from "../../parts/time.js";
import { orToast } from "../../parts/toast.js";
import { formatNumber } from "../../state/text.js";
import { html } from "../../vendor/htm-preact.js";
import { waitingText } from "./words.js";

/**
 * What goes on in a turn.
 * @param {{turn: any, baseline: any, limits: any, api: any}} props
 */
export function Running({ turn, baseline, limits, api }) {
  return html`<footer class="running stack" aria-label="What this turn is doing">
    <${Now} turn=${turn} api=${api} />
    <${Limits} turn=${turn} baseline=${baseline} limits=${limits} />
  </footer>`;
}

function Now({ turn, api }) {
  const { state, queuedPosition, waiting, progress } = turn;
  if (state === "queued") return html`<${Queued} turn=${turn} api=${api} />`;
  if (state === "awaiting_approval") {
    return html`<p class="row now">
      <${Badge} mood="warn">waits for a decision<//>
      ${turn.approvalSince && html`<${Elapsed} since=${turn.approvalSince} />`}
    </p>`;
  }
  if (queuedPosition !== null) {
    return html`<p class="row now">
      <${Badge} mood="info" live>queued<//> Waits for the model server, place ${queuedPosition} in the queue.
    </p>`;
  }
  if (waiting !== null)
    return html`<p class="row now"><${Badge} mood="info" live>waiting<//> ${waitingText(waiting)}</p>`;
  if (progress !== null && progress.processed < progress.total) return html`<${Reading} progress=${progress} />`;
  return html`<p class="row now">
    <${Badge} mood="info" live>${doing(turn)}<//>${turn.startedAt && html`<${Elapsed} since=${turn.startedAt} />`}
  </p>`;
}

function doing(turn) {
  const step = turn.steps.at(-1);
  if (step === undefined || (!step.settled && !step.reasoning && !step.content)) return "asking the model";
  if (!step.settled) return step.content ? "writing" : "thinking";
  return step.calls.some((call) => call.state !== "closed") ? "running tools" : "asking the model";
}

function Queued({ turn, api }) {
  const [busy, run] = useBusy();
  const cancel = () => run(() => orToast(api.post(`${turnPath(turn.session, turn.id)}/cancel`)));
  const place = turn.queuedPosition === null ? "" : `, place ${turn.queuedPosition}`;
  return html`<p class="row now">
    <${Badge} mood="info">queued<//> Runs when the turns before it have ended${place}.
    <button type="button" class="small" disabled=${busy} onClick=${cancel}>Take it out of the queue</button>
  </p>`;
}

function Reading({ progress: { processed, total, cached } }) {
  const fromCache = cached > 0 ? `, ${formatNumber(cached)} from the cache` : "";
  return html`<${Bar}
    label="Reading the prompt"
    value=${processed}
    of=${total}
    warnAt=${2}
    text="${formatNumber(processed)} of ${formatNumber(total)} tokens${fromCache}"
  />`;
}

function Limits({ turn, baseline, limits }) {
  const thought = turn.steps.reduce((sum, step) => sum + (step.reasoningTokens ?? 0), 0);
  const hasTools = (baseline?.tools?.names?.length ?? 0) > 0;
  if (turn.state === "queued" || limits === null || (!hasTools && thought === 0)) return null;
  return html`<div class="limits">
    ${hasTools && html`<${Bar} label="Rounds of tool calls" value=${turn.iterations} of=${limits.tool_iterations} />`}
    ${thought > 0 && html`<${Bar} label="Thinking tokens" value=${thought} of=${limits.thinking_tokens} />`}
  </div>`;
}
