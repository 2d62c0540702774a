/** A call of a tool: what was asked for, what came of it, and what a person has to say to it. */

import { sessionPath } from "../../net/paths.js";
import { Arguments } from "../../parts/arguments.js";
import { Badge, StateBadge } from "../../parts/badge.js";
import { useBusy } from "../../parts/busy.js";
import { FoldedText } from "../../parts/folded_text.js";
import { Elapsed } from "../../parts/time.js";
import { orToast } from "../../parts/toast.js";
import { VisibleText } from "../../parts/visible_text.js";
import { keyOf } from "../../state/approvals.js";
import { formatBytes, formatDuration, visible } from "../../state/text.js";
import { html, memo, useMemo, useState } from "../../vendor/htm-preact.js";
import { PendingCall } from "../approval_card.js";
import { CLASSES, STATUS, UNTRUSTED } from "./words.js";

/** Longer arguments are folded. */
const LONG_ARGUMENTS = 900;

/**
 * A call.
 * @param {{call: any, pending: any, child: any, session: string, turnOpen: boolean, api: any, live: any, Child: any}}
 *   props
 *   `pending`: what it waits for, `child`: the view of the session that it was handed over to
 */
export const CallCard = memo(function CallCard({ call, pending, child, session, turnOpen, api, live, Child }) {
  if (pending !== null && pending.decided === null)
    return html`<${Waiting} pending=${pending} api=${api} live=${live} />`;
  return html`<section class="card call" aria-label="Call ${call.call}: ${visible(call.name, { keep: "" })}">
    <${Head} call=${call} turnOpen=${turnOpen} />
    <div class="inside">
      <${FoldedArguments} text=${call.arguments} />
      <${Ran} call=${call} />
      <${Decision} decision=${call.decision} />
      ${call.child && html`<${Child} link=${call.child} view=${child} api=${api} live=${live} />`}
      <${Result} call=${call} session=${session} api=${api} />
    </div>
  </section>`;
});

function Waiting({ pending, api, live }) {
  const item = useMemo(() => ({ ...pending, key: keyOf(pending), decidedElsewhere: null }), [pending]);
  return html`<${PendingCall} api=${api} live=${live} item=${item} within />`;
}

function Head({ call, turnOpen }) {
  const took = call.startedAt && call.endedAt ? Date.parse(call.endedAt) - Date.parse(call.startedAt) : null;
  return html`<header class="row">
    <strong class="mono"><${VisibleText} text=${call.name || "(no name)"} /></strong>
    ${
      call.status
        ? html`<${StateBadge} of=${call.status} why=${STATUS[call.status]} />`
        : html`<${StateBadge} of=${call.state} why=${STATES[call.state]} />`
    }
    ${
      call.class &&
      call.class !== "public" &&
      html`<${Badge} mood="info" why=${CLASSES[call.class]}>${call.class}<//>`
    }
    ${call.untrusted && html`<${Badge} mood="warn" why=${UNTRUSTED}>untrusted<//>`}
    <span class="grow"></span>
    <span class="quiet-text">
      ${took !== null && formatDuration(took)}
      ${call.state === "in_flight" && turnOpen && call.startedAt && html`<${Elapsed} since=${call.startedAt} />`}
    </span>
  </header>`;
}

const STATES = {
  asked: "Not sent to the tool yet.",
  pending: "Waits for a person's decision.",
  in_flight: "Sent to the tool; its answer has not come yet.",
};

function FoldedArguments({ text }) {
  if (text.length <= LONG_ARGUMENTS) return html`<${Arguments} text=${text} />`;
  return html`<details>
    <summary class="quiet-text">Arguments, ${formatBytes(text.length)}</summary>
    <${Arguments} text=${text} />
  </details>`;
}

/** What was sent, where it is not what the model wrote. */
function Ran({ call: { ran, name, decision } }) {
  if (ran === null) return null;
  const changed = decision?.arguments != null;
  return html`<div class="ran">
    <p class="quiet-text">
      ${ran.name === name ? "" : html`Called <strong class="mono"><${VisibleText} text=${ran.name} /></strong>. `}
      ${changed ? `${decision.by} changed the arguments; it ran with these:` : "It ran with these arguments:"}
    </p>
    <${FoldedArguments} text=${ran.arguments} />
  </div>`;
}

function Decision({ decision }) {
  if (decision === null) return null;
  return html`<p class="quiet-text">
    ${decision.approved ? "Approved" : "Denied"} by <${VisibleText} text=${decision.by} />${
      decision.reason && html`: <${VisibleText} text=${decision.reason} />`
    }
  </p>`;
}

function Result({ call, session, api }) {
  const [full, setFull] = useState(null);
  const [busy, run] = useBusy();
  if (call.content === null) return null;
  const fetchFull = () =>
    run(async () => {
      const text = await orToast(
        api.text(`${sessionPath(session)}/records/${call.seq}/full`, { headers: { Accept: "text/plain" } }),
      );
      if (text !== undefined) setFull(text);
    });
  const whole =
    call.truncated && full === null
      ? { label: `Show all ${formatBytes(call.originalBytes)}; the model saw a part`, open: fetchFull, busy }
      : null;
  return html`<div class="result">
    <p class="quiet-text">Result</p>
    ${
      call.content === ""
        ? html`<p class="quiet-text">(empty)</p>`
        : html`<${FoldedText} class="raw-text" text=${full ?? call.content} whole=${whole} />`
    }
  </div>`;
}
