/** What is asked of the service for as long as somebody looks: once, or again and again. */

import { useEffect, useRef, useState } from "../vendor/htm-preact.js";

const NOTHING = Object.freeze({ value: null, problem: null });

/**
 * Count the keys that were given while the caller is shown: what was refused before is asked for anew.
 * @param {any} api
 * @returns {number}
 */
export function useKeyCount(api) {
  const [count, setCount] = useState(0);
  useEffect(() => api.onKey(() => setCount((now) => now + 1)), [api]);
  return count;
}

/**
 * Ask once.
 * @param {any} api
 * @param {string} path
 * @returns {{value: any, problem: any}}
 */
export function useFetched(api, path) {
  const [told, setTold] = useState(NOTHING);
  const keys = useKeyCount(api);
  useEffect(() => {
    const left = new AbortController();
    setTold(NOTHING);
    api.get(path, { signal: left.signal }).then(
      (value) => left.signal.aborted || setTold({ value, problem: null }),
      (problem) => left.signal.aborted || setTold({ value: null, problem }),
    );
    return () => left.abort();
  }, [api, path, keys]);
  return told;
}

/**
 * Ask at once, and then as often as is said, while the tab can be seen; never twice at the same time.
 * @template T
 * @param {(signal: AbortSignal) => Promise<T>} ask
 * @param {number} everyMs
 * @returns {{value: T|null, problem: any, again: () => void}} the last answer stays when a later question fails
 */
export function usePolled(ask, everyMs) {
  const [told, setTold] = useState(NOTHING);
  const [round, setRound] = useState(0);
  const latest = useRef({ ask, everyMs });
  latest.current = { ask, everyMs };
  useEffect(() => {
    const left = new AbortController();
    let timer = null;
    let isAsking = false;
    const look = async () => {
      clearTimeout(timer);
      if (isAsking || document.hidden) return;
      isAsking = true;
      try {
        const value = await latest.current.ask(left.signal);
        const isSame = (now) => now.value === value && now.problem === null;
        if (!left.signal.aborted) setTold((now) => (isSame(now) ? now : { value, problem: null }));
      } catch (problem) {
        if (!left.signal.aborted) setTold((now) => ({ ...now, problem }));
      }
      isAsking = false;
      if (!left.signal.aborted) timer = setTimeout(look, latest.current.everyMs);
    };
    // A tab that nobody sees asks nothing; whoever comes back sees the newest at once.
    document.addEventListener("visibilitychange", look);
    void look();
    return () => {
      left.abort();
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", look);
    };
  }, [round]);
  return { ...told, again: () => setRound((now) => now + 1) };
}
