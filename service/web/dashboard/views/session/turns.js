/** The turns of a session: the newest ones, more on demand; it follows what is written as long as one reads its end. */

import { formatNumber } from "../../state/text.js";
import {
  html,
  memo,
  useCallback,
  useEffect,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from "../../vendor/htm-preact.js";
import { SummaryNote } from "./notices.js";
import { Turn } from "./turn.js";

/** Turns that are shown at once. */
const SHOWN = 30;
/** So near to its end somebody reads the end; in pixels. */
const AT_END = 48;
const NONE = Object.freeze({});
const NO_SUMMARIES = Object.freeze([]);

/**
 * The turns.
 * @param {{view: any, again: any, busy: boolean, api: any, live: any}} props
 */
export const Turns = memo(function Turns({ view, again, busy, api, live }) {
  const scroller = useRef(null);
  const inside = useRef(null);
  const atEnd = useFollowedEnd(scroller, inside);
  const [first, showEarlier] = useFirstShown(view.order.length, atEnd, scroller);
  const byHand = useMemo(() => view.summaries.filter(({ turn }) => turn === null), [view.summaries]);
  const shown = view.order.slice(first);
  return html`<div class="turns" ref=${scroller} tabindex="0" role="region" aria-label="Conversation">
    <h2 class="visually-hidden">Conversation</h2>
    <div class="inside stack" ref=${inside}>
      ${
        first > 0 &&
        html`<button type="button" class="earlier" onClick=${showEarlier}>
        Show ${formatNumber(Math.min(SHOWN, first))} of ${formatNumber(first)} earlier turns
      </button>`
      }
      ${shown.map((id) => {
        const turn = view.turns[id];
        return html`${summariesBefore(byHand, view, first, id)}
          <${Turn}
            key=${id}
            turn=${turn}
            baseline=${view.baseline}
            summaries=${turn.notices.some(({ kind }) => kind === "summary") ? view.summaries : NO_SUMMARIES}
            childViews=${hasChild(turn) ? view.children : NONE}
            again=${again}
            busy=${busy}
            api=${api}
            live=${live}
          />`;
      })}
      ${summariesAtEnd(byHand, view)}
    </div>
    <${Heard} turn=${view.turns[view.order.at(-1)] ?? null} />
  </div>`;
});

function hasChild(turn) {
  return turn.steps.some((step) => step.calls.some((call) => call.child !== null));
}

/** Those by hand that were made between the turn before this one and this one. */
function summariesBefore(byHand, view, first, id) {
  if (byHand.length === 0) return null;
  const place = view.order.indexOf(id, first);
  const from = place > 0 ? view.turns[view.order[place - 1]].lastSeq : 0;
  const upTo = view.turns[id].firstSeq;
  return byHand
    .filter(({ seq }) => seq > from && seq < upTo)
    .map((summary) => html`<${SummaryNote} key=${summary.seq} summary=${summary} />`);
}

function summariesAtEnd(byHand, view) {
  const last = view.turns[view.order.at(-1)]?.lastSeq ?? 0;
  return byHand
    .filter(({ seq }) => seq > last)
    .map((summary) => html`<${SummaryNote} key=${summary.seq} summary=${summary} />`);
}

/** Keep the end in sight while somebody reads it. */
function useFollowedEnd(scroller, inside) {
  const atEnd = useRef(true);
  useEffect(() => {
    const place = scroller.current;
    const onScroll = () => {
      atEnd.current = place.scrollHeight - place.scrollTop - place.clientHeight < AT_END;
    };
    const follow = new ResizeObserver(() => {
      if (atEnd.current) place.scrollTop = place.scrollHeight;
    });
    follow.observe(inside.current);
    follow.observe(place);
    place.addEventListener("scroll", onScroll, { passive: true });
    return () => {
      follow.disconnect();
      place.removeEventListener("scroll", onScroll);
    };
  }, []);
  return atEnd;
}

/** The place of the first turn that is shown: what somebody looks at isn't taken away while turns come. */
function useFirstShown(count, atEnd, scroller) {
  const [first, setFirst] = useState(() => Math.max(0, count - SHOWN));
  const heightBefore = useRef(null);
  const advances = atEnd.current && count - first > 2 * SHOWN;
  useEffect(() => {
    if (advances) setFirst(count - SHOWN);
  }, [advances, count]);
  useLayoutEffect(() => {
    if (heightBefore.current === null) return;
    const place = scroller.current;
    place.scrollTop += place.scrollHeight - heightBefore.current;
    heightBefore.current = null;
    place.focus();
  }, [first]);
  const showEarlier = useCallback(() => {
    heightBefore.current = scroller.current.scrollHeight;
    atEnd.current = false;
    setFirst((now) => Math.max(0, now - SHOWN));
  }, []);
  return [first, showEarlier];
}

/** Say to those who hear the page what a text that streams by would not. */
function Heard({ turn }) {
  const words = turn === null ? "" : turn.state === "finished" ? `Turn ended: ${turn.outcome}` : `Turn: ${turn.state}`;
  return html`<div class="visually-hidden" role="status">${words.replaceAll("_", " ")}</div>`;
}
