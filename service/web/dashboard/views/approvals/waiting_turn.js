/** The calls of one turn that wait together: none runs until all are decided. */

import { Note } from "../../parts/note.js";
import { SessionLink, shortId } from "../../parts/session_link.js";
import { html, memo, useId, useRef } from "../../vendor/htm-preact.js";
import { PendingCall } from "../approval_card.js";
import { refusalInWords, useDeciding, wantsSignature } from "./deciding.js";
import { nextAfter } from "./focus.js";

const Card = memo(PendingCall);

/**
 * A turn and its calls.
 * @param {{api: any, live: any, items: any[]}} props
 */
export function WaitingTurn({ api, live, items }) {
  const title = useId();
  const place = useRef(null);
  const most = useRef(0);
  most.current = Math.max(most.current, items.length);
  const [{ session, turn }] = items;
  const waiting = items.filter((item) => item.decidedElsewhere === null);
  return html`<section class="waiting-turn stack" ref=${place} aria-labelledby=${title}>
    <header class="row">
      <h2 id=${title}><${SessionLink} api=${api} live=${live} id=${session} /></h2>
      <span class="quiet-text mono" title=${turn}>${shortId(turn)}</span>
    </header>
    ${most.current > 1 && waiting.length > 0 && html`<${Together} most=${most.current} left=${waiting.length} />`}
    ${items.map((item) => html`<${Card} key=${item.key} api=${api} live=${live} item=${item} within />`)}
    ${waiting.length > 1 && html`<${ApproveAll} api=${api} live=${live} items=${waiting} place=${place} />`}
  </section>`;
}

function Together({ most, left }) {
  if (left === most)
    return html`<${Note}>The model made these ${most} calls together. None of them runs until all are decided.<//>`;
  return html`<${Note}>
    ${most - left} of ${most} calls of this batch ${most - left === 1 ? "is" : "are"} decided. None of them runs until
    the ${left === 1 ? "last one is" : `other ${left} are`} decided as well.
  <//>`;
}

/** Below the calls, so that whoever approves them has come past them. */
function ApproveAll({ api, live, items, place }) {
  const { send, busy, refusal } = useDeciding({ api, live, items });
  const approve = async () => {
    const goOn = nextAfter(place.current);
    const became = await send(items.map(({ call, digest }) => ({ call, digest, approved: true })));
    if (became !== "refused") goOn();
  };
  return html`<div class="all">
    <button type="button" disabled=${busy} onClick=${(event) => event.detail < 2 && approve()}>
      Approve all ${items.length}
    </button>
    ${
      refusal &&
      html`<${Note} mood="bad" alert>
        ${refusalInWords(refusal)}
        ${wantsSignature(refusal) && " Each call is signed on its own: press Approve or Deny at a call to see how."}
      <//>`
    }
  </div>`;
}
