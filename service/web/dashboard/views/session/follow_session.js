/** One session, followed as long as it is shown: its events folded, its resource, and how the stream stands. */

import { follow } from "../../net/follow.js";
import { sessionPath } from "../../net/paths.js";
import { emptySession, reconnected, reduceAll } from "../../state/session.js";
import { useEffect, useState } from "../../vendor/htm-preact.js";

const RETRY_MS = 2000;

/**
 * Follow a session and those below it.
 * @param {any} api
 * @param {string} id
 * @returns {{view: any, connection: string, resource: any, loaded: boolean, put: (resource: any) => void}}
 *   `loaded`: what happened before the page was opened is all there
 */
export function useSession(api, id) {
  const [state, setState] = useState(() => ({ view: emptySession(id), connection: "connecting", loaded: false }));
  const [resource, put] = useState(null);
  const [round, setRound] = useState(0);

  useEffect(() => {
    const here = { view: emptySession(id), connection: "connecting", loaded: false, upTo: Infinity };
    const show = () => {
      here.loaded ||= here.view.lastSeq >= here.upTo;
      setState({ view: here.view, connection: here.connection, loaded: here.loaded });
    };
    show();
    const left = new AbortController();
    let timer = null;
    /** Ask for what the stream does not tell: how far the log goes, how large the context is. */
    const ask = async () => {
      clearTimeout(timer);
      try {
        const answer = await api.get(sessionPath(id), { signal: left.signal });
        if (left.signal.aborted) return;
        put(answer);
        here.upTo = Math.min(here.upTo, answer.last_seq);
        show();
      } catch {
        // The stream tells what is wrong; where it goes on all the same, this is wanted still.
        if (!left.signal.aborted && here.connection === "live") timer = setTimeout(ask, RETRY_MS);
      }
    };
    const stream = follow(`${sessionPath(id)}/events`, {
      api,
      after: 0,
      onEvents(events) {
        here.view = reduceAll(here.view, events);
        if (!here.view.outOfDate) return show();
        // The store was put back to an earlier state: all is read again.
        stream.close();
        setRound((count) => count + 1);
      },
      onState(connection) {
        here.connection = connection;
        if (connection === "live") {
          here.view = reconnected(here.view);
          void ask();
        }
        show();
      },
    });
    return () => {
      clearTimeout(timer);
      left.abort();
      stream.close();
    };
  }, [api, id, round]);

  return { ...state, resource, put };
}
