/** What all views look at: the sessions, what waits for a person, and figures, kept up to date by `GET /events`. */

import { problemOf } from "./net/api.js";
import { follow } from "./net/follow.js";
import { sessionPath } from "./net/paths.js";
import * as approvals from "./state/approvals.js";
import * as server from "./state/server.js";
import * as sessions from "./state/sessions.js";
import { useLayoutEffect, useReducer, useRef } from "./vendor/htm-preact.js";

/** Records before now that the figures are drawn from when the page is opened. */
const HISTORY = 2000;
/** Beyond the end of any store: the service answers with where it ends. */
const BEYOND = Number.MAX_SAFE_INTEGER;
const PAGE = 50;
const RETRY_MS = 2000;
/** So long it is waited for the first words of a stream. */
const FIRST_WORDS_MS = 15_000;

const NO_SEARCH = Object.freeze({ text: "", next: null, isComplete: false, problem: null });
const NOTHING = Object.freeze({
  list: sessions.emptyList(),
  search: NO_SEARCH,
  inbox: approvals.emptyInbox(),
  figures: server.emptyFigures(),
  /** Whether the first page of sessions and what waits have come. */
  isListed: false,
  /** Why nothing could be listed. */
  problem: null,
  /** Why what waits is kept from this key. */
  inboxProblem: null,
});

/**
 * Make the live state of a page.
 * @param {ReturnType<typeof import("./net/api.js").createApi>} api
 */
export function createLive(api) {
  let state = { ...NOTHING, connection: "connecting" };
  const listeners = new Set();
  const asked = new Set();
  /** Ends all that the last start has begun. */
  let begun = new AbortController();
  /** What is older than this `pos` is in the listings. */
  let listedUpTo = 0;

  const change = (changed) => {
    state = { ...state, ...changed };
    for (const listener of [...listeners]) listener();
  };

  const later = (what) => {
    const timer = setTimeout(what, RETRY_MS);
    begun.signal.addEventListener("abort", () => clearTimeout(timer), { once: true });
  };

  /** A page does not tell what waits in its sessions; the inbox does. */
  const withWaiting = (list, inbox) => sessions.withApprovals(list, { items: approvals.waiting(inbox) });

  /** Take in what has come: what is older than the listings goes into the figures alone. */
  const take = (events) => {
    // The store was put back to an earlier state: all is read again.
    if (events.some((event) => event.type === "resync")) return void start();
    const fresh = events.filter((event) => event.pos === null || event.pos > listedUpTo);
    const list = sessions.reduceAll(state.list, fresh);
    const inbox = approvals.reduceAll(state.inbox, fresh);
    const figures = server.reduceAll(state.figures, events);
    if (list !== state.list || inbox !== state.inbox || figures !== state.figures) change({ list, inbox, figures });
    for (const id of list.unknown) void fetchSession(id);
  };

  const fetchSession = async (id) => {
    if (asked.has(id)) return;
    const { signal } = begun;
    asked.add(id);
    try {
      const session = await api.get(sessionPath(id), { signal });
      if (!signal.aborted) change({ list: sessions.withSession(state.list, session) });
      asked.delete(id);
    } catch (problem) {
      if (signal.aborted) return;
      // Deleted meanwhile, or somebody else's.
      if (problem.status === 404) change({ list: sessions.withoutSession(state.list, id) });
      // The next event of the session asks again, but not at once.
      later(() => asked.delete(id));
    }
  };

  /** Fetch what is there: the newest sessions, and what waits. */
  const load = async () => {
    const { signal } = begun;
    const before = state.inbox;
    const refused = (problem) => {
      if (problem.status !== 403) throw problem;
      return { items: [], problem };
    };
    try {
      const [page, waiting] = await Promise.all([
        api.get(`sessions?limit=${PAGE}`, { signal }),
        api.get("approvals", { signal }).catch(refused),
      ]);
      if (signal.aborted) return;
      const inbox = approvals.withListing(state.inbox, waiting, before);
      const list = withWaiting(sessions.withPage(state.list, page), inbox);
      change({ list, inbox, isListed: true, problem: null, inboxProblem: waiting.problem ?? null });
    } catch (problem) {
      if (signal.aborted) return;
      change({ problem });
      later(load);
    }
  };

  /** Begin, or begin anew: whatever was begun before is ended. */
  const start = async () => {
    begun.abort();
    begun = new AbortController();
    const { signal } = begun;
    asked.clear();
    change({ ...NOTHING, connection: "connecting" });
    try {
      listedUpTo = await endOfStore(api, signal);
    } catch (problem) {
      if (signal.aborted) return;
      // With a key it is begun anew.
      if (problem.status === 401) return change({ connection: "unauthorized" });
      change({ connection: problem.status === 403 ? "forbidden" : "reconnecting", problem });
      return later(start);
    }
    if (signal.aborted) return;
    follow("events", {
      api,
      signal,
      after: Math.max(0, listedUpTo - HISTORY),
      onEvents: take,
      onState: (connection) => change({ connection }),
    });
    await load();
  };

  // The key may be somebody else's, so nothing of before is kept.
  api.onKey(() => void start());

  return {
    /** What is known now. */
    get state() {
      return state;
    },
    start,
    /** Be told of each change; gives the function that ends it. */
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    /** Search in all sessions, also those that are not loaded; an empty text ends the search. */
    async search(text) {
      change({ search: { ...NO_SEARCH, text } });
      if (text === "") return;
      try {
        await found(text, null);
      } catch (problem) {
        if (state.search.text === text) change({ search: { ...state.search, problem } });
      }
    },
    /** Load older sessions: of what is searched for, else of all. */
    async more() {
      const { text, next } = state.search;
      if (text !== "") return await found(text, next);
      const { signal } = begun;
      const page = await api.get(`sessions?limit=${PAGE}&after=${encodeURIComponent(state.list.next)}`, { signal });
      if (!signal.aborted) change({ list: withWaiting(sessions.withPage(state.list, page), state.inbox) });
    },
    /** Put in a session as the service just answered it. */
    put(session) {
      change({ list: sessions.withSession(state.list, session) });
    },
    /** Fetch the listing of what waits. */
    async refreshApprovals() {
      const { signal } = begun;
      const before = state.inbox;
      const waiting = await api.get("approvals", { signal });
      if (!signal.aborted) change({ inbox: approvals.withListing(state.inbox, waiting, before) });
    },
    /** Put in what somebody did with the inbox: `decidedHere`, `notDecidedHere` or `acknowledged`, with its item. */
    inbox(done, item) {
      change({ inbox: done(state.inbox, item) });
    },
    /** Put out a session that was deleted here. */
    drop(id) {
      change({ list: sessions.withoutSession(state.list, id) });
    },
  };

  /** Fetch a page of what is searched for. */
  async function found(text, after) {
    const { signal } = begun;
    const from = after === null ? "" : `&after=${encodeURIComponent(after)}`;
    const page = await api.get(`sessions?limit=${PAGE}&search=${encodeURIComponent(text)}${from}`, { signal });
    // Typed on meanwhile: the answer to an older question is of no use.
    if (signal.aborted || state.search.text !== text) return;
    const list = withWaiting(page.items.reduce(sessions.withSession, state.list), state.inbox);
    change({ list, search: { ...NO_SEARCH, text, next: page.next, isComplete: page.next === null } });
  }
}

/** Ask where the store ends: a stream from beyond it begins by saying so. */
async function endOfStore(api, signal) {
  const own = new AbortController();
  const end = () => own.abort();
  const timer = setTimeout(end, FIRST_WORDS_MS);
  signal.addEventListener("abort", end, { once: true });
  try {
    const answer = await api.stream(`events?after=${BEYOND}`, { signal: own.signal });
    if (answer.status !== 200) throw await problemOf(answer);
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    for (;;) {
      const { done, value } = await reader.read();
      if (done) throw new Error("the stream of all events ended before it began");
      text += value;
      const found = /"last_pos":\s*(\d+)[\s,}]/.exec(text);
      if (found) return Number(found[1]);
    }
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", end);
    end();
  }
}

/**
 * Look at a part of what is live; the view is drawn again when that part changes.
 * @template T
 * @param {ReturnType<typeof createLive>} live
 * @param {(state: any) => T} part must give the same for the same state: no new object each time
 * @returns {T}
 */
export function useLive(live, part) {
  const [, redraw] = useReducer((count) => count + 1, 0);
  const drawn = useRef(null);
  drawn.current = { part, seen: part(live.state) };
  useLayoutEffect(() => {
    const look = () => {
      if (!Object.is(drawn.current.part(live.state), drawn.current.seen)) redraw();
    };
    // It may have changed since it was drawn.
    look();
    return live.subscribe(look);
  }, [live]);
  return drawn.current.seen;
}
