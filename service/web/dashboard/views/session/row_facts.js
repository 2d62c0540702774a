/** What a listing doesn't tell of a session: its first words, how its last turn ended. Read when it is in sight. */

import { sessionPath } from "../../net/paths.js";
import { useEffect, useRef, useState } from "../../vendor/htm-preact.js";

/** Records at either end of a log among which the first message, or the end of the last turn, is. */
const LOOKED_AT = 4;
const KEPT = 500;
/** What was found, by session and the length of its log. @type {Map<string, typeof UNKNOWN>} */
const found = new Map();
const UNKNOWN = Object.freeze({ words: null, outcome: null });

/**
 * Give the first words and the last outcome of a session, and the place to watch.
 * @param {any} api
 * @param {{id: string, title: string, state: string, outcome: string|null, lastText: string|null, lastSeq: number}} row
 */
export function useRowFacts(api, row) {
  const place = useRef(null);
  const key = `${row.id}/${row.lastSeq}`;
  const [last, setLast] = useState(null);
  const facts = found.get(key) ?? last ?? UNKNOWN;
  const wantsWords = row.title === "" && facts.words === null;
  const wantsOutcome = row.state === "idle" && row.outcome === null && facts.outcome === null;
  const isWanted = row.lastSeq > 1 && (wantsWords || wantsOutcome);
  useEffect(() => {
    if (!isWanted) return undefined;
    let isShown = true;
    const watch = new IntersectionObserver(([{ isIntersecting }]) => {
      if (!isIntersecting) return;
      watch.disconnect();
      void look(api, row, { wantsWords, wantsOutcome }).then((seen) => {
        found.set(key, seen);
        if (found.size > KEPT) found.delete(found.keys().next().value);
        if (isShown) setLast(seen);
      });
    });
    watch.observe(place.current);
    return () => {
      isShown = false;
      watch.disconnect();
    };
  }, [api, key, isWanted]);
  return { place, words: facts.words ?? row.lastText, outcome: row.outcome ?? facts.outcome };
}

async function look(api, row, { wantsWords, wantsOutcome }) {
  const [first, last] = await Promise.all([
    wantsWords ? records(api, row.id, 0) : [],
    wantsOutcome ? records(api, row.id, Math.max(0, row.lastSeq - LOOKED_AT)) : [],
  ]);
  return {
    words: first.find(({ type }) => type === "user" || type === "turn_queued")?.content ?? null,
    outcome: last.findLast(({ type }) => type === "turn_finished")?.outcome ?? null,
  };
}

async function records(api, id, after) {
  try {
    return (await api.get(`${sessionPath(id)}/records?limit=${LOOKED_AT}&after=${after}`)).items;
  } catch {
    // Deleted meanwhile, or the service is away: its id will do.
    return [];
  }
}
