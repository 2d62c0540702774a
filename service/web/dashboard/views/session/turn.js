/** One turn: what was said, the steps that followed, what is going on in it, and how it ended. */

import { FoldedText } from "../../parts/folded_text.js";
import { Icon } from "../../parts/icons.js";
import { Time } from "../../parts/time.js";
import { isOpen } from "../../state/session.js";
import { html, memo } from "../../vendor/htm-preact.js";
import { ChildTurn } from "./child.js";
import { Notice } from "./notices.js";
import { Outcome } from "./outcome.js";
import { Running } from "./running.js";
import { Step } from "./step.js";
import { FORK } from "./words.js";

/**
 * A turn.
 * @param {{turn: any, baseline: any, summaries: any[], childViews: Record<string, any>, again: any, busy: boolean,
 *   api: any, live: any}} props `again`: how to ask again, null where that can't be done; `busy`: it is being asked
 */
export const Turn = memo(function Turn({ turn, baseline, summaries, childViews, again, busy, api, live }) {
  const open = isOpen(turn);
  const limits = turn.options?.limits ?? baseline?.limits ?? null;
  const { before, after } = placed(turn);
  const line = (notice) => html`<${Notice}
    key=${notice.seq}
    notice=${notice}
    summary=${notice.kind === "summary" ? (summaries.find(({ seq }) => seq === notice.seq) ?? null) : null}
  />`;
  return html`<article class="turn ${open ? "open" : ""}" id="turn-${turn.id}" aria-label="Turn">
    <${Said} turn=${turn} again=${again} busy=${busy} />
    ${turn.steps.map(
      (step, place) => html`${before[place].map(line)}
        <${Step}
          key="step-${step.number}"
          step=${step}
          cap=${limits?.thinking_tokens ?? 0}
          session=${turn.session}
          pending=${turn.pending}
          childViews=${childViews}
          open=${open}
          api=${api}
          live=${live}
          Child=${NestedTurn}
        />`,
    )}
    ${after.map(line)}
    ${
      open
        ? html`<${Running} turn=${turn} baseline=${baseline} limits=${limits} api=${api} />`
        : html`<${Outcome} turn=${turn} busy=${busy} onRetry=${() => again?.repeat(turn)} />`
    }
  </article>`;
});

function NestedTurn(props) {
  return html`<${ChildTurn} ...${props} Turn=${Turn} />`;
}

/** The message of a person, or of the agent that handed over. */
function Said({ turn, again, busy }) {
  const at = turn.startedAt ?? turn.queuedAt;
  const canAsk = again !== null && turn.content !== null;
  return html`<header class="said">
    <div class="row spread">
      <span class="quiet-text">${at && html`<${Time} at=${at} />`}</span>
      ${
        canAsk &&
        html`<span class="row actions">
        <button
          type="button"
          class="quiet small"
          title="Say it in other words. ${FORK}"
          onClick=${() => again.edit(turn)}
        >
          <${Icon} name="edit" />Edit
        </button>
        ${
          !isOpen(turn) &&
          html`<button
            type="button"
            class="quiet small"
            title="Ask the same again. ${FORK}"
            disabled=${busy}
            onClick=${() => again.repeat(turn)}
          >
            <${Icon} name="retry" />Regenerate
          </button>`
        }
      </span>`
      }
    </div>
    ${turn.content !== null && html`<${FoldedText} text=${turn.content} />`}
  </header>`;
}

/** What happened, before the step that it belongs to or came before; the rest after them all. */
function placed(turn) {
  const before = turn.steps.map(() => []);
  const after = [];
  for (const notice of turn.notices) {
    const place = turn.steps.findIndex(({ number, settledAt }) =>
      notice.step === null ? settledAt === null || notice.time <= settledAt : number === notice.step,
    );
    (before[place] ?? after).push(notice);
  }
  return { before, after };
}
