/** What is shown in place of something that there is not, or that is not shown. */

import { html, useEffect, useRef } from "../vendor/htm-preact.js";

/**
 * The place, with the way back.
 * @param {{title: string, back: {href: string, words: string}, children: any}} props
 */
export function Apology({ title, back, children }) {
  const heading = useRef(null);
  useEffect(() => {
    // What had the focus may have gone with what was here before.
    if (document.activeElement === document.body) heading.current.focus();
  }, []);
  return html`<div class="empty" role="alert">
    <h1 ref=${heading} tabindex="-1">${title}</h1>
    <p>${children}</p>
    <a class="button" href=${back.href}>${back.words}</a>
  </div>`;
}
