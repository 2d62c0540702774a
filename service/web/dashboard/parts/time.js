/** Times as people read them: when, how far from now, for how long. The exact one is in the title, and in the log. */

import { formatDuration } from "../state/text.js";
import { html, useEffect, useState } from "../vendor/htm-preact.js";

const CLOCK = { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" };
const DAY = { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit", hourCycle: "h23" };
const TODAY_FORMAT = new Intl.DateTimeFormat(undefined, CLOCK);
const DAY_FORMAT = new Intl.DateTimeFormat(undefined, DAY);

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
/** Below this the words change each second. */
const CLOSE_MS = 2 * MINUTE_MS;

/**
 * Write a time: of today by the clock alone.
 * @param {string} at RFC 3339
 */
export function formatTime(at) {
  const time = new Date(at);
  const isToday = time.toDateString() === new Date().toDateString();
  return (isToday ? TODAY_FORMAT : DAY_FORMAT).format(time);
}

/**
 * A time of the service.
 * @param {{at: string}} props RFC 3339
 */
export function Time({ at }) {
  return html`<time dateTime=${at} title=${at}>${formatTime(at)}</time>`;
}

/**
 * How far a time is from now, in words that keep up with the clock.
 * @param {{at: string}} props RFC 3339
 */
export function TimeFromNow({ at }) {
  const [isFar, setIsFar] = useState(true);
  const away = Date.parse(at) - useNow(isFar ? MINUTE_MS / 2 : SECOND_MS);
  useEffect(() => setIsFar(Math.abs(away) > CLOSE_MS), [Math.abs(away) > CLOSE_MS]);
  return html`<time dateTime=${at} title=${at}>${fromNow(away)}</time>`;
}

/**
 * How long something has been going on, counted on each second.
 * @param {{since: string}} props RFC 3339
 */
export function Elapsed({ since }) {
  // The clocks of the service and of this machine may differ a little.
  const seconds = Math.max(0, Math.round((useNow(SECOND_MS) - Date.parse(since)) / SECOND_MS));
  return html`<span>${seconds < 60 ? `${seconds} s` : formatDuration(seconds * SECOND_MS)}</span>`;
}

function useNow(everyMs) {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
  return now;
}

function fromNow(ms) {
  if (Math.abs(ms) < 2 * SECOND_MS) return "now";
  const length = lengthOf(Math.abs(ms));
  return ms < 0 ? `${length} ago` : `in ${length}`;
}

/** One unit is enough for how long somebody has waited. */
function lengthOf(ms) {
  if (ms < CLOSE_MS) return `${Math.floor(ms / SECOND_MS)} s`;
  if (ms < 2 * HOUR_MS) return `${Math.floor(ms / MINUTE_MS)} min`;
  if (ms < 2 * DAY_MS) return `${Math.floor(ms / HOUR_MS)} h`;
  return `${Math.floor(ms / DAY_MS)} days`;
}
