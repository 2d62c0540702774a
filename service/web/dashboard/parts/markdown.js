/** Text of a model as Markdown, sanitised: it can look like something, and do nothing. */

import DOMPurify from "../vendor/purify.js";
import { Marked } from "../vendor/marked.js";
import { html, useLayoutEffect, useRef } from "../vendor/htm-preact.js";
import { VisibleText } from "./visible_text.js";

/** Longer texts are shown as they are: to lay them out would hold up the page. */
export const LAID_OUT = 60_000;
/** Headings of a text stand below those of the page. */
const HEADING_BELOW = 2;

// No image: an address that is fetched could carry words of the conversation to whoever wrote the text.
const SANITISED = {
  ALLOWED_TAGS: [
    "a", "b", "blockquote", "br", "code", "del", "em", "h3", "h4", "h5", "h6", "hr", "i", "li", "ol", "p",
    "pre", "s", "strong", "sub", "sup", "table", "tbody", "td", "th", "thead", "tr", "ul",
  ],
  ALLOWED_ATTR: ["href", "title", "align", "start"],
  ALLOWED_URI_REGEXP: /^(?:https?|mailto):/i,
  ALLOW_DATA_ATTR: false,
  ALLOW_ARIA_ATTR: false,
  RETURN_DOM_FRAGMENT: true,
};

// Markup that a model writes is shown as it wrote it: it means to show it, or it means harm.
const markdown = new Marked({
  gfm: true,
  breaks: true,
  async: false,
  renderer: {
    html: ({ text }) => (/^<br\s*\/?>$/i.test(text) ? "<br>" : escaped(text)),
    heading({ tokens, depth }) {
      const level = Math.min(6, depth + HEADING_BELOW);
      return `<h${level}>${this.parser.parseInline(tokens)}</h${level}>`;
    },
  },
});

function escaped(text) {
  return text.replace(/[&<>"']/g, (character) => `&#${character.codePointAt(0)};`);
}

/**
 * Make nodes of a text that nobody vouches for.
 * @param {string} text Markdown
 * @returns {DocumentFragment} with links that open elsewhere and tell nothing of this page
 */
function sanitised(text) {
  const fragment = DOMPurify.sanitize(markdown.parse(text), SANITISED);
  for (const link of fragment.querySelectorAll("a")) {
    link.target = "_blank";
    link.rel = "noopener noreferrer nofollow";
    showTarget(link);
  }
  for (const code of fragment.querySelectorAll("pre, table")) code.tabIndex = 0;
  return fragment;
}

/** Where a link leads is seen before it is followed, also by those who can't hover. */
function showTarget(link) {
  const address = link.getAttribute("href") ?? "";
  link.title = address;
  if (link.host !== "" && !link.textContent.includes(link.host)) link.append(` [${link.host}]`);
}

/**
 * Show a text as Markdown.
 * @param {{text: string}} props
 */
export function Markdown({ text }) {
  const place = useRef(null);
  const plain = text.length > LAID_OUT;
  useLayoutEffect(() => {
    if (!plain) place.current.replaceChildren(sanitised(text));
  }, [text, plain]);
  if (plain) return html`<pre class="raw" tabindex="0"><${VisibleText} text=${text} /></pre>`;
  return html`<div class="markdown" ref=${place}></div>`;
}
