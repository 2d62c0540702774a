/** A call that waits for a person: what would run, why somebody is asked, since when, and the answer. */

import { Arguments } from "../parts/arguments.js";
import { Note } from "../parts/note.js";
import { SessionLink } from "../parts/session_link.js";
import { Time, TimeFromNow } from "../parts/time.js";
import { VisibleText } from "../parts/visible_text.js";
import { acknowledged } from "../state/approvals.js";
import { formatNumber } from "../state/text.js";
import { html, useId, useRef, useState } from "../vendor/htm-preact.js";
import { DenyForm, EditForm } from "./approvals/answer_forms.js";
import { refusalInWords, useDeciding, wantsSignature } from "./approvals/deciding.js";
import { nextAfter } from "./approvals/focus.js";
import { SigningHelp } from "./approvals/signing_help.js";

const SHOWN_AT_ONCE = 20_000;

/**
 * A call that waits, with all that is needed to decide on it.
 * @param {{api: any, live: any, item: any, within?: boolean}} props `item` as of state/approvals.js; `within`: what is
 *   around it says already which session it is of
 */
export function PendingCall({ api, live, item, within = false }) {
  const title = useId();
  return html`<article class="pending-call card" data-pending-call tabindex="-1" aria-labelledby=${title}>
    <header>
      <h3 id=${title}><${VisibleText} text=${item.title} /></h3>
      ${item.title !== item.name && html`<code><${VisibleText} text=${item.name} /></code>`}
      <span class="quiet-text">call ${item.call}</span>
    </header>
    <${Facts} api=${api} live=${live} item=${item} within=${within} />
    <${WholeArguments} text=${item.arguments} title=${item.title} />
    <details class="digest">
      <summary>Digest <code>${item.digest.slice(0, 17)}…</code></summary>
      <code class="whole">${item.digest}</code>
      <p class="quiet-text">
        A decision carries this digest of the session, the turn, the call, the tool and its arguments: it holds for
        exactly this call.
      </p>
    </details>
    ${
      elsewhere(item)
        ? html`<${DecidedElsewhere} live=${live} item=${item} how=${elsewhere(item)} />`
        : html`<${Answer} api=${api} live=${live} item=${item} />`
    }
  </article>`;
}

/** What would run; a long text is shown whole on demand, and it is said that there is more. */
function WholeArguments({ text, title }) {
  const [whole, setWhole] = useState(false);
  const isLong = text.length > SHOWN_AT_ONCE;
  return html`<div class="what" role="group" tabindex="0" aria-label=${`Arguments of “${title}”`}>
      <${Arguments} text=${text} limit=${whole ? Infinity : SHOWN_AT_ONCE} />
    </div>
    ${
      isLong &&
      !whole &&
      html`<${Note} mood="warn">
        The arguments are long, ${formatNumber(text.length)} characters.
        <button type="button" class="small" onClick=${() => setWhole(true)}>Show all of it</button>
      <//>`
    }`;
}

function Facts({ api, live, item, within }) {
  return html`<dl class="facts">
    ${
      !within &&
      html`<dt>Session</dt>
        <dd><${SessionLink} api=${api} live=${live} id=${item.session} /></dd>`
    }
    <dt>Why you are asked</dt>
    <dd><${VisibleText} text=${item.reason} /></dd>
    <dt>Waits since</dt>
    <dd><${Time} at=${item.asked_at} /> (<${TimeFromNow} at=${item.asked_at} />)</dd>
    ${
      item.expires_at &&
      html`<dt>Counts as denied</dt>
        <dd><${Time} at=${item.expires_at} /> (<${TimeFromNow} at=${item.expires_at} />)</dd>`
    }
  </dl>`;
}

/** How it was decided by somebody else: in the inbox, or in the log of a session that is looked at. */
function elsewhere(item) {
  return item.decidedElsewhere ?? (item.decided ? { ...item.decided, how: "decided" } : null);
}

const ENDED = {
  expired: "Nobody decided in time: the call counts as denied.",
  ended: "The turn has ended, so this call no longer waits.",
};

function DecidedElsewhere({ live, item, how }) {
  const place = useRef(null);
  const away = () => {
    const goOn = nextAfter(place.current.closest("[data-pending-call]"));
    live.inbox(acknowledged, item);
    // Behind the drawing that takes the card away.
    requestAnimationFrame(() => requestAnimationFrame(goOn));
  };
  const verb = how.approved ? "Approved" : "Denied";
  return html`<div class="answer" ref=${place}>
    <${Note} mood=${how.approved ? "good" : "warn"}>
      ${ENDED[how.how] ?? html`${verb} by <b><${VisibleText} text=${how.by ?? "somebody"} /></b>.`}
      ${how.reason && html` <q><${VisibleText} text=${how.reason} /></q>`}
    <//>
    ${item.decidedElsewhere && html`<div class="row"><button type="button" onClick=${away}>Put away</button></div>`}
  </div>`;
}

function Answer({ api, live, item }) {
  const place = useRef(null);
  const [form, setForm] = useState(null);
  const [sent, setSent] = useState(false);
  const { send, busy, refusal, forget } = useDeciding({ api, live, items: [item] });
  const decide = async (decision) => {
    const goOn = nextAfter(place.current.closest("[data-pending-call]"));
    const became = await send([{ call: item.call, digest: item.digest, ...decision }]);
    if (became === "taken") setSent(true);
    if (became !== "refused") goOn();
  };
  const close = () => {
    setForm(null);
    forget();
  };
  if (sent) return html`<p class="answer quiet-text" role="status">Decided. The log will show it in a moment.</p>`;
  const shared = { item, busy, onDecide: decide, onClose: close };
  return html`<div class="answer" ref=${place}>
    ${form === "deny" && html`<${DenyForm} ...${shared} />`} ${form === "edit" && html`<${EditForm} ...${shared} />`}
    ${
      form === null &&
      html`<${Buttons} item=${item} busy=${busy} onApprove=${() => decide({ approved: true })} onForm=${setForm} />`
    }
    ${refusal && html`<${Note} mood="bad" alert>${refusalInWords(refusal)}<//>`}
    ${wantsSignature(refusal) && html`<${SigningHelp} ...${shared} deny=${form === "deny"} />`}
  </div>`;
}

function Buttons({ item, busy, onApprove, onForm }) {
  // The second click of two quick ones may hit the card that has moved up.
  const approve = (event) => event.detail < 2 && onApprove();
  const of = `“${item.title}”, call ${item.call}`;
  return html`<div class="row">
    <button type="button" class="primary" disabled=${busy} aria-label=${`Approve ${of}`} onClick=${approve}>
      Approve
    </button>
    <button
      type="button"
      class="danger"
      disabled=${busy}
      aria-label=${`Deny … ${of}`}
      onClick=${() => onForm("deny")}
    >
      Deny …
    </button>
    <button
      type="button"
      disabled=${busy}
      aria-label=${`Edit arguments … of ${of}`}
      onClick=${() => onForm("edit")}
    >
      Edit arguments …
    </button>
  </div>`;
}
