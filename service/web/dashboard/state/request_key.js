// @ts-check
/** Idempotency keys (H3): a request that is sent again after a lost answer has the key of the first time. */

const BYTES = 16;

/** @typedef {{body: string, key: string}} Tried what was sent, and may have arrived */

/** Make a key; `crypto.randomUUID` is missing where the page came over plain HTTP. */
export function newRequestKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(BYTES));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/**
 * Give the key of a request: that of the try before where it asks for the very same.
 * @param {Tried|null} tried
 * @param {string} body
 */
export function keyFor(tried, body) {
  return tried?.body === body ? tried.key : newRequestKey();
}
