// @ts-check
/** Where things of the service are; an id may come out of the page's address, so each is one part of a path. */

/** @param {string} id */
export function sessionPath(id) {
  return `sessions/${encodeURIComponent(id)}`;
}

/** @param {string} session @param {string} turn */
export function turnPath(session, turn) {
  return `${sessionPath(session)}/turns/${encodeURIComponent(turn)}`;
}

/** @param {string} id */
export function readingPath(id) {
  return `readings/${encodeURIComponent(id)}`;
}
