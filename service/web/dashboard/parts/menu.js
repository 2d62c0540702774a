/** What opens over the page from a button: actions, or a few fields. Closed by Escape, and by going elsewhere. */

import { html, useEffect, useRef } from "../vendor/htm-preact.js";
import { Icon } from "./icons.js";

/**
 * Close a `details` when somebody goes elsewhere.
 * @returns {{ref: {current: any}, onKeyDown: (event: KeyboardEvent) => void}} the props of the `details`
 */
export function useOpening() {
  const place = useRef(null);
  useEffect(() => {
    // It may leave the page before these are taken off: the focus moves while it is removed.
    const opening = place.current;
    const leave = (event) => {
      if (!opening.contains(event.target)) opening.open = false;
    };
    document.addEventListener("pointerdown", leave);
    document.addEventListener("focusin", leave);
    return () => {
      document.removeEventListener("pointerdown", leave);
      document.removeEventListener("focusin", leave);
    };
  }, []);
  const onKeyDown = (event) => {
    const opening = event.currentTarget;
    if (event.key !== "Escape" || !opening.open) return;
    opening.open = false;
    opening.querySelector("summary").focus();
  };
  return { ref: place, onKeyDown };
}

/**
 * A menu. Its entries are buttons and links with the class `entry`; a choice closes it.
 * @param {{label: string, children: any}} props
 */
export function Menu({ label, children }) {
  const opening = useOpening();
  const onClick = (event) => {
    const opened = event.currentTarget;
    if (!event.target.closest(".entry")) return;
    opened.open = false;
    // A dialog that it opens gives the focus back to where it was, and the entry is hidden then.
    opened.querySelector("summary").focus();
  };
  return html`<details class="menu" ...${opening} onClick=${onClick}>
    <summary class="button" aria-label=${label} title=${label}><${Icon} name="more" /></summary>
    <div class="entries">${children}</div>
  </details>`;
}
