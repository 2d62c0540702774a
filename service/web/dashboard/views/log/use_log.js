/** What of a log is shown, and how far it goes: fetched page by page, told of by the session's stream. */

import { follow } from "../../net/follow.js";
import { sessionPath } from "../../net/paths.js";
import { useKeyCount } from "../../parts/fetched.js";
import { told } from "../../parts/toast.js";
import { useEffect, useRef, useState } from "../../vendor/htm-preact.js";
import { fetchPage, PAGE, pageStartOf } from "./pages.js";

const RETRY_MS = 2000;
const NO_FILTER = { type: "", turn: "", first: 1, last: null };

/**
 * Look at the log of a session: at first at its end.
 * @param {{api: any, id: string}} props
 * @returns what is shown, and what leads elsewhere in it. `looked`: how far a search has come, null when none runs
 */
export function useLog({ api, id }) {
  const { lastSeq, fault, round } = useLastSeq({ api, id });
  // `starts`: where the pages before this one begin; of a filtered log that can't be computed.
  const [shown, setShown] = useState({ page: null, filter: NO_FILTER, starts: [] });
  const [looked, setLooked] = useState(null);
  const [refusal, setRefusal] = useState(null);
  const running = useRef(null);

  /** Fetch, and leave what was being fetched before; null when it came to nothing. */
  const load = async (after, filter) => {
    running.current?.abort();
    const left = new AbortController();
    running.current = left;
    setRefusal(null);
    setLooked(after);
    try {
      const page = await fetchPage(api, id, {
        after,
        filter,
        upTo: filter.last,
        signal: left.signal,
        onLooked: setLooked,
      });
      return left.signal.aborted ? null : page;
    } catch (problem) {
      if (!left.signal.aborted) setRefusal(told(problem));
      return null;
    } finally {
      if (!left.signal.aborted) setLooked(null);
    }
  };
  const show = async (after, filter, starts) => {
    const page = await load(after, filter);
    if (page !== null) setShown({ page, filter, starts });
    return page;
  };
  const showAll = (seq) => show(pageStartOf(seq), NO_FILTER, startsBefore(pageStartOf(seq)));

  const isKnown = lastSeq > 0;
  useEffect(() => {
    if (isKnown) void showAll(lastSeq);
    return () => running.current?.abort();
  }, [api, id, isKnown, round]);

  const { page, filter, starts } = shown;
  return {
    page,
    filter,
    looked,
    refusal: refusal ?? fault,
    isFiltered: filter.type !== "" || filter.turn !== "",
    lastSeq: Math.max(lastSeq, page?.to ?? 0),
    hasEarlier: starts.length > 0,
    /** Show only what matches; `first` and `last` are the records between which a turn lies, as far as is known. */
    choose: async (changed) => {
      const chosen = { ...filter, ...changed };
      setShown((now) => ({ ...now, filter: chosen }));
      if (chosen.type === "" && chosen.turn === "") await showAll(lastSeq);
      else await show(chosen.first - 1, chosen, []);
    },
    /** Show the page that holds a record, without a filter. */
    jump: showAll,
    previous: () => show(starts.at(-1), filter, starts.slice(0, -1)),
    next: () => show(page.to, filter, [...starts, page.from]),
    /** Put what has come since behind what is shown, or begin the next page where this one is full. */
    more: async () => {
      if (page.rows.length >= PAGE) return await show(page.to, filter, [...starts, page.from]);
      const found = await load(page.to, filter);
      if (found) setShown({ page: { ...found, from: page.from, rows: [...page.rows, ...found.rows] }, filter, starts });
      return found;
    },
  };
}

function startsBefore(after) {
  return Array.from({ length: after / PAGE }, (_, index) => index * PAGE);
}

/** How far the log goes, kept up to date by the session's stream; `round` grows when the log is another one. */
function useLastSeq({ api, id }) {
  const [lastSeq, setLastSeq] = useState(0);
  const [fault, setFault] = useState(null);
  const [round, setRound] = useState(0);
  const keys = useKeyCount(api);
  useEffect(() => {
    const left = new AbortController();
    let timer = null;
    setFault(null);
    const take = (events) => {
      // The store was put back to an earlier state.
      if (events.some(({ type }) => type === "resync")) return setRound((now) => now + 1);
      // Children's records have numbers of their own.
      const seqs = events.filter((event) => event.session === id && event.seq !== undefined).map((event) => event.seq);
      if (seqs.length > 0) setLastSeq((now) => Math.max(now, ...seqs));
    };
    const start = async () => {
      const path = sessionPath(id);
      const { last_seq: last } = await api.get(path, { signal: left.signal });
      const { items } = await api.get(`${path}/records?limit=1&after=${last - 1}`, { signal: left.signal });
      setFault(null);
      setLastSeq(last);
      follow(`${path}/events`, {
        api,
        after: items.at(-1)?.pos ?? 0,
        onEvents: take,
        onState: (state) => state === "gone" && setFault("the session was deleted."),
        signal: left.signal,
      });
    };
    const tryStart = () =>
      start().catch((problem) => {
        if (left.signal.aborted) return;
        setFault(told(problem));
        if (problem.status === 0 || problem.status >= 500) timer = setTimeout(tryStart, RETRY_MS);
      });
    void tryStart();
    return () => {
      clearTimeout(timer);
      left.abort();
    };
  }, [api, id, round, keys]);
  return { lastSeq, fault, round };
}
