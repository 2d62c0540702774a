/** The idempotency key of what a component sends. */

import { keyFor } from "../state/request_key.js";
import { useRef } from "../vendor/htm-preact.js";

/**
 * Give the key of a body: the same until another body is sent.
 * @returns {(body: unknown) => string}
 */
export function useRequestKey() {
  const tried = useRef(null);
  return (body) => {
    const text = JSON.stringify(body);
    tried.current = { body: text, key: keyFor(tried.current, text) };
    return tried.current.key;
  };
}
