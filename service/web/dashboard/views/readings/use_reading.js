/** One reading, followed from its first record on; it survives lost connections and restarts of the service. */

import { follow } from "../../net/follow.js";
import { readingPath } from "../../net/paths.js";
import { emptyReading, reconnected, reduceAll } from "../../state/reading.js";
import { useEffect, useState } from "../../vendor/htm-preact.js";

/**
 * Follow a reading while the caller is shown.
 * @param {any} api
 * @param {string} id
 * @returns {{view: import("../../state/reading.js").Reading, connection: string}}
 */
export function useReading(api, id) {
  const [view, setView] = useState(() => emptyReading(id));
  const [connection, setConnection] = useState("connecting");
  const [times, setTimes] = useState(0);
  useEffect(() => {
    // The store was put back to an earlier state: all is read again.
    if (view.outOfDate) setTimes((now) => now + 1);
  }, [view.outOfDate]);
  useEffect(() => {
    setView(emptyReading(id));
    setConnection("connecting");
    const stream = follow(`${readingPath(id)}/events`, {
      api,
      after: null,
      onEvents: (events) => setView((now) => reduceAll(now, events)),
      onState: (state) => {
        setConnection(state);
        if (state === "live") setView(reconnected);
      },
    });
    return () => stream.close();
  }, [api, id, times]);
  return { view, connection };
}
