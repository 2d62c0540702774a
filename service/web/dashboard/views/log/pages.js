// @ts-check
/** The log by parts that a person can read: 200 records, or as many that match what is asked for. */

import { sessionPath } from "../../net/paths.js";

/** Records of a page; the service gives no more at once. */
export const PAGE = 200;

/**
 * @typedef {{type: string, turn: string}} Filter empty texts match all
 * @typedef {{record: any, hash: string|null}} Row
 * @typedef {object} Page
 * @property {Row[]} rows
 * @property {number} from the `seq` behind which it was looked
 * @property {number} to the `seq` up to which it was looked, `from` where there was nothing
 * @property {boolean} atEnd whether there was nothing behind it
 */

/**
 * Fetch a page: all records behind `after`, or those that match.
 * @param {{get: (path: string, options?: object) => Promise<any>}} api
 * @param {string} id of the session
 * @param {{after: number, filter: Filter, upTo?: number|null, signal?: AbortSignal,
 *   onLooked?: (seq: number) => void}} asked
 *   `upTo`: the `seq` where looking ends; `onLooked` is told how far it has come
 * @returns {Promise<Page>}
 */
export async function fetchPage(api, id, { after, filter, upTo = null, signal, onLooked }) {
  /** @type {Row[]} */
  const rows = [];
  const isFiltered = filter.type !== "" || filter.turn !== "";
  for (let to = after; ;) {
    const path = `${sessionPath(id)}/records?limit=${PAGE}${to > 0 ? `&after=${to}` : ""}`;
    const { items, next, hashes = [] } = await api.get(path, { signal });
    for (const [index, record] of items.entries()) {
      to = record.seq;
      if (matches(record, filter)) rows.push({ record, hash: hashes[index] ?? null });
      if (rows.length === PAGE || to === upTo)
        return { rows, from: after, to, atEnd: to === upTo || isLast(items, index, next) };
    }
    if (next === null || !isFiltered) return { rows, from: after, to, atEnd: next === null };
    onLooked?.(to);
  }
}

function isLast(/** @type {any[]} */ items, /** @type {number} */ index, /** @type {number|null} */ next) {
  return next === null && index === items.length - 1;
}

/** Whether a record is one of those that were asked for. */
function matches(/** @type {any} */ record, /** @type {Filter} */ { type, turn }) {
  return (type === "" || record.type === type) && (turn === "" || record.turn === turn);
}

/**
 * Where the page begins that holds a record, when nothing is filtered.
 * @param {number} seq
 */
export function pageStartOf(seq) {
  return Math.floor((Math.max(1, seq) - 1) / PAGE) * PAGE;
}
