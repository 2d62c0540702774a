/** Where on the page somebody is: the part of the address behind #, so that a link leads there and Back goes back. */

import { useEffect, useState } from "./vendor/htm-preact.js";

/**
 * @typedef {{view: "sessions"|"approvals"|"readings"|"server", id: string|null, part: string|null}} Route
 *   `part` is what of it is shown, like "log".
 */

const VIEWS = ["sessions", "approvals", "readings", "server"];

/**
 * Read an address.
 * @param {string} hash
 * @returns {Route} the sessions, where it names nothing that there is
 */
export function routeOf(hash) {
  const [view, id, part] = hash
    .replace(/^#\/?/, "")
    .split("/")
    .map(decoded);
  if (!VIEWS.includes(view)) return { view: "sessions", id: null, part: null };
  return { view, id: id || null, part: part || null };
}

/** An address that somebody typed may have a % that means nothing. */
function decoded(piece) {
  try {
    return decodeURIComponent(piece);
  } catch {
    return piece;
  }
}

/**
 * Give the address of a place.
 * @param {string} view
 * @param {string|null} [id]
 * @param {string|null} [part]
 */
export function hrefTo(view, id = null, part = null) {
  return `#/${[view, id, part].filter((piece) => piece !== null).map(encodeURIComponent).join("/")}`;
}

/** Go there. */
export function goTo(view, id = null, part = null) {
  location.hash = hrefTo(view, id, part);
}

/** The place where somebody is now. */
export function useRoute() {
  const [route, setRoute] = useState(() => routeOf(location.hash));
  useEffect(() => {
    const follow = () => setRoute(routeOf(location.hash));
    addEventListener("hashchange", follow);
    return () => removeEventListener("hashchange", follow);
  }, []);
  return route;
}
