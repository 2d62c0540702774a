// @ts-check
/** Figures of the service over time, out of the events of all sessions: what prompts cost, and what went wrong. */

import { Draft } from "./draft.js";

/**
 * @typedef {import("./session/shapes.js").Event} Event
 *
 * @typedef {object} Point one completion
 * @property {string} time
 * @property {string} session
 * @property {string|null} turn
 * @property {number|null} cachedShare 0 to 1; null of a prompt whose length is not known
 * @property {number} promptTokens
 * @property {number} cachedTokens
 * @property {number} completionTokens
 * @property {number|null} tokensPerSecond null where the server did not measure
 * @property {number|null} promptPerSecond
 *
 * @typedef {object} Trouble
 * @property {string|null} time
 * @property {string|null} session
 * @property {string|null} turn
 * @property {"failed"|"turn_limit"|"session_full"|"attempt"|"store_error"|"cache_loss"} kind
 * @property {string} detail
 *
 * @typedef {{completions: number, promptTokens: number, cachedTokens: number, completionTokens: number,
 *   reasoningTokens: number, toolCalls: number, turns: number, answered: number, failed: number}} Totals
 *
 * @typedef {object} Figures
 * @property {Point[]} points oldest first
 * @property {Trouble[]} errors newest first
 * @property {Totals} totals
 * @property {Record<string, string>} forks when sessions were made that began with a copy of another one's records
 *
 * @typedef {Draft<Figures>} FiguresDraft
 */

const POINTS_KEPT = 500;
const ERRORS_KEPT = 50;
const FORKS_KEPT = 100;

/** Figures before the first event. @returns {Figures} */
export function emptyFigures() {
  const totals = {
    completions: 0,
    promptTokens: 0,
    cachedTokens: 0,
    completionTokens: 0,
    reasoningTokens: 0,
    toolCalls: 0,
    turns: 0,
    answered: 0,
    failed: 0,
  };
  return { points: [], errors: [], totals, forks: {} };
}

/**
 * Take one event of `GET /events`.
 * @param {Figures} figures
 * @param {Event} event
 * @returns {Figures} the same when it changes nothing
 */
export function reduce(figures, event) {
  return reduceAll(figures, [event]);
}

/**
 * Take events that came together.
 * @param {Figures} figures
 * @param {Iterable<Event>} events
 * @returns {Figures}
 */
export function reduceAll(figures, events) {
  const draft = new Draft(figures);
  for (const event of events) {
    if (Object.hasOwn(CHANGES, event.type) && !isCopy(draft, event)) CHANGES[event.type](draft, event);
  }
  return draft.now;
}

/**
 * Give the mean speed of the last completions that were measured.
 * @param {Figures} figures
 * @param {number} [last] how many of them
 * @returns {number|null}
 */
export function meanTokensPerSecond(figures, last = 20) {
  const rates = figures.points.flatMap((point) => point.tokensPerSecond ?? []).slice(-last);
  return rates.length > 0 ? rates.reduce((sum, rate) => sum + rate, 0) / rates.length : null;
}

/** The records that a fork takes along were counted where they come from. */
function isCopy(/** @type {FiguresDraft} */ draft, /** @type {Event} */ event) {
  const made = draft.now.forks[event.session ?? ""];
  return made !== undefined && event.time < made;
}

/** @type {Record<string, (draft: FiguresDraft, event: Event) => void>} */
const CHANGES = {
  session_created(draft, event) {
    if (!event.fork) return;
    const forks = draft.within(draft.root, "forks");
    forks[/** @type {string} */ (event.session)] = event.time;
    const [oldest] = Object.keys(forks);
    if (Object.keys(forks).length > FORKS_KEPT) delete forks[oldest];
  },
  usage(draft, event) {
    const points = draft.within(draft.root, "points");
    points.push(pointOf(event));
    if (points.length > POINTS_KEPT) points.shift();
    const totals = draft.within(draft.root, "totals");
    totals.completions += 1;
    totals.promptTokens += event.prompt_tokens;
    totals.cachedTokens += event.cached_tokens;
    totals.completionTokens += event.completion_tokens;
    totals.reasoningTokens += event.reasoning_tokens;
  },
  assistant(draft, event) {
    if (event.tool_calls.length > 0) draft.within(draft.root, "totals").toolCalls += event.tool_calls.length;
  },
  cache_loss(draft, event) {
    trouble(draft, event, "cache_loss", `${event.lost_tokens} tokens evaluated again: ${words(event.reason)}`);
  },
  attempt(draft, event) {
    trouble(draft, event, "attempt", `step ${event.step}, attempt ${event.attempt}: ${words(event.kind)}`);
  },
  store_error(draft, event) {
    trouble(draft, event, "store_error", "a record could not be written");
  },
  turn_finished(draft, event) {
    const totals = draft.within(draft.root, "totals");
    const { outcome } = event;
    totals.turns += 1;
    if (outcome === "answered") totals.answered += 1;
    if (outcome === "failed") totals.failed += 1;
    if (outcome === "failed" || outcome === "session_full") trouble(draft, event, outcome, errorOf(event));
    if (outcome === "turn_limit") trouble(draft, event, outcome, words(event.limit));
  },
};

/** @returns {Point} */
function pointOf(/** @type {Event} */ event) {
  const { prompt_tokens: promptTokens, cached_tokens: cachedTokens, timings } = event;
  return {
    time: event.time,
    session: /** @type {string} */ (event.session),
    turn: event.turn ?? null,
    cachedShare: promptTokens > 0 ? cachedTokens / promptTokens : null,
    promptTokens,
    cachedTokens,
    completionTokens: event.completion_tokens,
    tokensPerSecond: timings.predicted_per_second || null,
    promptPerSecond: timings.prompt_per_second || null,
  };
}

function trouble(
  /** @type {FiguresDraft} */ draft,
  /** @type {Event} */ event,
  /** @type {Trouble["kind"]} */ kind,
  /** @type {string} */ detail,
) {
  const errors = draft.within(draft.root, "errors");
  errors.unshift({ time: event.time ?? null, session: event.session, turn: event.turn ?? null, kind, detail });
  if (errors.length > ERRORS_KEPT) errors.pop();
}

function errorOf(/** @type {Event} */ event) {
  return event.error ? `${words(event.error.kind)}: ${event.error.message}` : words(event.outcome);
}

function words(/** @type {string} */ name) {
  return name.replaceAll("_", " ");
}
