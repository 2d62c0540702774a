/** The readings there are. `GET /events` tells nothing of them, so they are asked for again while they are seen. */

import { usePolled } from "../../parts/fetched.js";
import { useCallback, useState } from "../../vendor/htm-preact.js";

const PAGE = 30;
const BUSY_MS = 3000;
const QUIET_MS = 10_000;
const EMPTY = { items: [], next: null, isLoaded: false, problem: null };

/**
 * Look at the list of readings.
 * @param {any} api
 */
export function useListing(api) {
  const [listing, setListing] = useState(EMPTY);
  const refresh = useCallback(
    async (signal) => {
      try {
        const page = await api.get(`readings?limit=${PAGE}`, { signal });
        setListing((now) => withFirst(now, page));
      } catch (problem) {
        if (!signal?.aborted) setListing((now) => ({ ...now, problem }));
      }
    },
    [api],
  );
  const more = useCallback(async () => {
    const page = await api.get(`readings?limit=${PAGE}&after=${encodeURIComponent(listing.next)}`);
    setListing((now) => ({ ...now, items: merged([...now.items, ...page.items], now.items), next: page.next }));
  }, [api, listing.next]);
  const put = useCallback((reading) => {
    setListing((now) => ({
      ...now,
      items: merged([reading, ...now.items.filter(({ id }) => id !== reading.id)], now.items),
    }));
  }, []);

  const isBusy = listing.items.some(({ state }) => state !== "finished");
  usePolled(refresh, isBusy ? BUSY_MS : QUIET_MS);
  return { ...listing, refresh, more, put };
}

/** Put in the newest page: what is older stays, what is gone from among the new goes. */
function withFirst(now, page) {
  const last = page.items.at(-1)?.id;
  const older = page.next === null ? [] : now.items.filter(({ id }) => id < last);
  return {
    items: merged([...page.items, ...older], now.items),
    next: older.length > 0 ? now.next : page.next,
    isLoaded: true,
    problem: null,
  };
}

/** The very same objects where nothing has changed; newest first, each once. */
function merged(items, before) {
  const known = new Map(before.map((reading) => [reading.id, reading]));
  const found = new Map();
  for (const reading of items) {
    if (found.has(reading.id)) continue;
    const old = known.get(reading.id);
    found.set(reading.id, old && old.head.hash === reading.head.hash && old.state === reading.state ? old : reading);
  }
  return [...found.values()].sort((one, other) => (one.id < other.id ? 1 : -1));
}
