/** What somebody is writing to a session: kept in this tab, with the key of a try that may have arrived. */

const KEPT_AS = "turnkeeper.draft.";

/**
 * Read what was being written.
 * @param {string} session
 * @returns {{text: string, tried: {body: string, key: string}|null}} `tried`: what was sent without an answer
 */
export function keptDraft(session) {
  try {
    return JSON.parse(sessionStorage.getItem(KEPT_AS + session)) ?? { text: "", tried: null };
  } catch {
    return { text: "", tried: null };
  }
}

/**
 * Keep what is being written; nothing where there is nothing.
 * @param {string} session
 * @param {{text: string, tried: {body: string, key: string}|null}} draft
 */
export function keepDraft(session, draft) {
  try {
    if (draft.text || draft.tried) sessionStorage.setItem(KEPT_AS + session, JSON.stringify(draft));
    else sessionStorage.removeItem(KEPT_AS + session);
  } catch {
    // A storage that is full or forbidden: the text stays on the page.
  }
}

/** Forget all that was being written, in all sessions. */
export function forgetDrafts() {
  try {
    for (const name of Object.keys(sessionStorage)) if (name.startsWith(KEPT_AS)) sessionStorage.removeItem(name);
  } catch {
    // Where nothing can be kept, nothing is.
  }
}
