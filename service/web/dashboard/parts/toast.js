/** Short news in the corner: what went wrong with what was asked for, or that it is done. */

import { html, useEffect, useState } from "../vendor/htm-preact.js";

const SHOWN_MS = 8000;
const SHOWN_AT_ONCE = 4;

/** @type {Set<(news: {text: string, mood: string}) => void>} */
const listeners = new Set();

/**
 * Show a line for some seconds; a bad one stays until somebody puts it away.
 * @param {string} text
 * @param {"bad"|"good"|""} mood
 */
export function toast(text, mood = "") {
  for (const listener of listeners) listener({ text, mood });
}

/**
 * Say in one line what was refused.
 * @param {any} problem what a request threw
 */
export function told(problem) {
  return problem?.detail || problem?.title || problem?.message || String(problem);
}

/**
 * Do something, and show why where it is refused.
 * @template T
 * @param {Promise<T>} doing
 * @returns {Promise<T|undefined>}
 */
export async function orToast(doing) {
  try {
    return await doing;
  } catch (problem) {
    toast(told(problem), "bad");
    return undefined;
  }
}

/** Where toasts are shown; once on the page. */
export function Toasts() {
  const [shown, setShown] = useState([]);
  useEffect(() => {
    let last = 0;
    const add = (news) => {
      last += 1;
      const entry = { ...news, key: last };
      setShown((now) => [...now, entry].slice(-SHOWN_AT_ONCE));
    };
    listeners.add(add);
    return () => listeners.delete(add);
  }, []);
  const away = (key) => setShown((now) => now.filter((other) => other.key !== key));
  return html`<div class="toasts" role="status">
    ${shown.map((entry) => html`<${Toast} key=${entry.key} ...${entry} onAway=${() => away(entry.key)} />`)}
  </div>`;
}

function Toast({ text, mood, onAway }) {
  useEffect(() => {
    if (mood === "bad") return undefined;
    const timer = setTimeout(onAway, SHOWN_MS);
    return () => clearTimeout(timer);
  }, []);
  return html`<div class="toast ${mood}">
    <span class="grow">${text}</span>
    <button type="button" class="quiet small" aria-label="Put this message away" onClick=${onAway}>×</button>
  </div>`;
}
