/** One thing at a time, so that a button can be disabled while what it began goes on. */

import { useCallback, useRef, useState } from "../vendor/htm-preact.js";

/**
 * Do one thing at a time: what is asked for while it goes on is not begun.
 * @returns {[boolean, (doing: () => Promise<any>) => Promise<any>]} whether it goes on, and the way to begin it
 */
export function useBusy() {
  const [busy, setBusy] = useState(false);
  const going = useRef(false);
  const run = useCallback(async (doing) => {
    if (going.current) return undefined;
    going.current = true;
    setBusy(true);
    try {
      return await doing();
    } finally {
      going.current = false;
      setBusy(false);
    }
  }, []);
  return [busy, run];
}
