/** One step of a turn: what the model thought and wrote, the calls that it made, what went wrong on the way. */

import { Badge } from "../../parts/badge.js";
import { FoldedText } from "../../parts/folded_text.js";
import { LAID_OUT, Markdown } from "../../parts/markdown.js";
import { Note } from "../../parts/note.js";
import { StreamedMarkdown } from "../../parts/streamed_markdown.js";
import { formatDuration, formatNumber } from "../../state/text.js";
import { html, memo, useState } from "../../vendor/htm-preact.js";
import { CallCard } from "./call.js";
import { troubleName } from "./words.js";

/** Longer thoughts are shown by their end while they grow. */
const SHOWN_THOUGHT = 20_000;

/**
 * A step.
 * @param {{step: any, cap: number, session: string, pending: any[], childViews: Record<string, any>, open: boolean,
 *   api: any, live: any, Child: any}} props `cap`: thinking tokens of the turn; `open`: the turn goes on
 */
export const Step = memo(function Step({ step, cap, open, ...around }) {
  const isWriting = open && !step.settled;
  return html`<div class="step">
    ${step.reasoning && html`<${Thought} step=${step} cap=${cap} isLive=${isWriting && !step.content} />`}
    ${step.content.trim() && html`<${Answer} text=${step.content} isWriting=${isWriting} />`}
    ${isWriting && step.retrying && html`<${Retrying} retrying=${step.retrying} />`}
    ${step.cutCalls.length > 0 && html`<${CutCalls} calls=${step.cutCalls} />`}
    ${
      step.calls.length > 0 &&
      html`<div class="calls">
      ${step.calls.map(
        (call) => html`<${CallCard}
          key=${call.call}
          call=${call}
          pending=${pendingOf(around, call)}
          child=${(call.child && around.childViews[call.child.session]) ?? null}
          session=${around.session}
          turnOpen=${open}
          api=${around.api}
          live=${around.live}
          Child=${around.Child}
        />`,
      )}
    </div>`
    }
  </div>`;
});

function pendingOf({ pending, session }, call) {
  if (call.state !== "pending") return null;
  return pending.find((one) => one.session === session && one.call === call.call) ?? null;
}

function Thought({ step, cap, isLive }) {
  const [open, setOpen] = useState(false);
  const { reasoning, reasoningTokens: tokens, reasoningTokensEstimated: isEstimate, thinkingCapped } = step;
  const count =
    tokens === null ? "" : `${isEstimate ? "about " : ""}${formatNumber(tokens)} of ${formatNumber(cap)} tokens`;
  const hidden = isLive && reasoning.length > SHOWN_THOUGHT ? reasoning.length - SHOWN_THOUGHT : 0;
  return html`<details class="thought" onToggle=${(event) => setOpen(event.currentTarget.open)}>
    <summary title="What the model thought before it wrote. The cap holds for all thoughts of a turn together.">
      ${isLive ? "Thinking" : "Thought"}${count && `, ${count}`}
      ${isLive && html` <${Badge} mood="info" live>now<//>`}
      ${thinkingCapped && html` <${Badge} mood="warn">cut at the cap<//>`}
    </summary>
    ${
      open &&
      html`<div class="text">
      ${hidden > 0 && html`<p class="quiet-text">… ${formatNumber(hidden)} characters before</p>`}
      ${reasoning.slice(hidden)}
    </div>`
    }
  </details>`;
}

const Answer = memo(function Answer({ text, isWriting }) {
  // What was seen while it was written keeps its place.
  const [wasWritten] = useState(isWriting);
  if (isWriting || wasWritten)
    return html`<div class="answer"><${StreamedMarkdown} text=${text} isWriting=${isWriting} /></div>`;
  if (text.length > LAID_OUT) return html`<div class="answer"><${FoldedText} text=${text} /></div>`;
  return html`<div class="answer"><${Markdown} text=${text} /></div>`;
});

function Retrying({ retrying: { attempt, reason, delayMs } }) {
  const when = delayMs ? ` in ${formatDuration(delayMs)}` : "";
  return html`<${Note} mood="warn">
    Attempt ${attempt} did not work (${troubleName(reason)}). It is tried again${when}; what it had written is dropped.
  <//>`;
}

function CutCalls({ calls }) {
  return html`<${Note} mood="warn">
    The model was cut off while it asked for ${calls.map(({ name }) => name || "a tool").join(", ")}, so nothing of it
    was run.
  <//>`;
}
