/** Markdown that is being written: what is whole is laid out once, only its end is laid out anew with each piece. */

import { html, memo, useRef } from "../vendor/htm-preact.js";
import { LAID_OUT, Markdown } from "./markdown.js";

/** Shorter pieces than this stay together, so that a short answer is one text. */
const PIECE = 1500;
/**
 * An end without a place to cut is shown as it is from here on: to lay it out anew each time would hold up the
 * page.
 */
const LONGEST_END = 6000;
/** Of such an end only the last so many characters are drawn anew. */
const PLAIN_PIECE = 3000;

const Piece = memo(Markdown);
const Plain = memo(({ text }) => html`<div class="plain-end">${text}</div>`);

/**
 * Show a text as it grows.
 * @param {{text: string, isWriting: boolean}} props
 */
export function StreamedMarkdown({ text, isWriting }) {
  const place = useRef({ text: "", pieces: [], cut: 0, at: 0, fence: null });
  place.current = grown(place.current, text);
  const { pieces, cut } = place.current;
  const end = text.slice(cut);
  const isPlain = end.length > (isWriting ? LONGEST_END : LAID_OUT);
  return html`<div class="streamed">
    ${pieces.map((piece, number) => html`<${Piece} key=${number} text=${piece} />`)}
    ${isPlain ? html`<${PlainEnd} key="plain" text=${end} />` : html`<${Piece} key="end" text=${end} />`}
  </div>`;
}

function PlainEnd({ text }) {
  return html`<div>${plainPieces(text).map((piece, number) => html`<${Plain} key=${number} text=${piece} />`)}</div>`;
}

/** Look at the lines that have come whole since the last time, and cut where a blank line stands outside of code. */
function grown(before, text) {
  const isMore =
    text.startsWith(before.text.slice(-64), Math.max(0, before.text.length - 64)) && text.length >= before.at;
  const now = isMore ? { ...before, text } : { text, pieces: [], cut: 0, at: 0, fence: null };
  for (let end = text.indexOf("\n", now.at); end >= 0; end = text.indexOf("\n", now.at)) {
    const line = text.slice(now.at, end).trim();
    now.at = end + 1;
    const fence = /^(```+|~~~+)/.exec(line)?.[1] ?? null;
    if (fence !== null) now.fence = nextFence(now.fence, fence, line);
    if (line === "" && now.fence === null && now.at - now.cut >= PIECE) {
      now.pieces = [...now.pieces, text.slice(now.cut, now.at)];
      now.cut = now.at;
    }
  }
  return now;
}

/** A fence is closed by one of its own kind that is at least as long and has no words behind it. */
function nextFence(open, fence, line) {
  if (open === null) return fence;
  return fence[0] === open[0] && fence.length >= open.length && line === fence ? null : open;
}

/** Cut at ends of lines, at the same places however long it has grown. */
function plainPieces(text) {
  const pieces = [];
  let start = 0;
  while (text.length - start > PLAIN_PIECE) {
    const line = text.lastIndexOf("\n", start + PLAIN_PIECE);
    const end = line > start ? line + 1 : start + PLAIN_PIECE;
    pieces.push(text.slice(start, end));
    start = end;
  }
  return [...pieces, text.slice(start)];
}
