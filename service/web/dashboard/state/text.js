// @ts-check
/** Text and numbers as people read them: hidden characters made visible, bytes, durations. Lengths are code points. */

/** Controls, format characters (bidi among them), lone surrogates, separators of lines: as the service has it. */
const HIDDEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]+/gu;
const KEPT = "\n\t";
const UNITS = ["bytes", "KiB", "MiB", "GiB", "TiB"];
const STEP = 1024;
const NUMBER = new Intl.NumberFormat("en");
const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** @typedef {{text: string, control: boolean}} Piece a part of a text; `control`: it stands for hidden characters */

/**
 * Split a text into what can be seen and what stands for hidden characters.
 * @param {string} text
 * @param {{keep?: string}} [options] hidden characters that stay as they are: line ends and tabs unless told
 * @returns {Piece[]} put together they are the text, with escapes
 */
export function visiblePieces(text, { keep = KEPT } = {}) {
  /** @type {Piece[]} */
  const pieces = [];
  const add = (/** @type {string} */ piece, /** @type {boolean} */ control) => {
    const last = pieces.at(-1);
    if (last?.control === control) last.text += piece;
    else if (piece) pieces.push({ text: piece, control });
  };
  let end = 0;
  for (const found of text.matchAll(HIDDEN)) {
    add(text.slice(end, found.index), false);
    for (const character of found[0]) add(...(keep.includes(character) ? plain(character) : escaped(character)));
    end = found.index + found[0].length;
  }
  add(text.slice(end), false);
  return pieces;
}

/** @returns {[string, boolean]} */
function plain(/** @type {string} */ character) {
  return [character, false];
}

/** @returns {[string, boolean]} */
function escaped(/** @type {string} */ character) {
  const short = { "\n": "\\n", "\r": "\\r", "\t": "\\t" }[character];
  const code = character.codePointAt(0) ?? 0;
  const digits = code < 0x10000 ? `\\u${hex(code, 4)}` : `\\U${hex(code, 8)}`;
  return [short ?? digits, true];
}

function hex(/** @type {number} */ code, /** @type {number} */ digits) {
  return code.toString(16).padStart(digits, "0");
}

/**
 * Show a text with its hidden characters as escapes.
 * @param {string} text
 * @param {{keep?: string}} [options]
 */
export function visible(text, options) {
  return visiblePieces(text, options)
    .map((piece) => piece.text)
    .join("");
}

/** Count the bytes of a text in UTF-8. @param {string} text */
export function utf8Length(text) {
  return new TextEncoder().encode(text).length;
}

/** Count the code points of a text, as the offsets of deltas do. @param {string} text */
export function codePoints(text) {
  return units(text, Infinity).points;
}

/**
 * Leave out the first code points of a text.
 * @param {string} text
 * @param {number} count
 */
export function dropCodePoints(text, count) {
  return text.slice(units(text, count).units);
}

/**
 * Give at most so many code points of a text, with … where more followed.
 * @param {string} text
 * @param {number} most
 */
export function clip(text, most) {
  const end = units(text, most).units;
  return end < text.length ? `${text.slice(0, end)}…` : text;
}

/** Walk over at most so many code points: a loop, since texts of megabytes come by here. */
function units(/** @type {string} */ text, /** @type {number} */ most) {
  let at = 0;
  let points = 0;
  for (; at < text.length && points < most; points += 1) at += isPair(text, at) ? 2 : 1;
  return { units: at, points };
}

function isPair(/** @type {string} */ text, /** @type {number} */ at) {
  const high = text.charCodeAt(at);
  if (high < 0xd800 || high > 0xdbff || at + 1 === text.length) return false;
  const low = text.charCodeAt(at + 1);
  return low >= 0xdc00 && low <= 0xdfff;
}

/** Say a number of bytes: "17 bytes", "1.5 KiB". @param {number} bytes */
export function formatBytes(bytes) {
  let value = bytes;
  let unit = 0;
  // 1023.96 would be rounded to "1024.0 KiB".
  for (; Number(value.toFixed(1)) >= STEP && unit < UNITS.length - 1; unit += 1) value /= STEP;
  return `${unit === 0 ? value : value.toFixed(1)} ${unit === 0 && value === 1 ? "byte" : UNITS[unit]}`;
}

/** Say how long something took: "840 ms", "12.4 s", "3 min 5 s", "2 h 4 min". @param {number} ms */
export function formatDuration(ms) {
  if (Math.round(ms) < SECOND) return `${Math.round(ms)} ms`;
  // 59.96 s would be rounded to "60.0 s".
  if (Number((ms / SECOND).toFixed(1)) < 60) return `${(ms / SECOND).toFixed(1)} s`;
  const seconds = Math.round(ms / SECOND) * SECOND;
  if (seconds < HOUR) return `${Math.floor(seconds / MINUTE)} min ${(seconds % MINUTE) / SECOND} s`;
  const minutes = Math.round(ms / MINUTE) * MINUTE;
  return `${NUMBER.format(Math.floor(minutes / HOUR))} h ${(minutes % HOUR) / MINUTE} min`;
}

/** Write a number with its thousands apart. @param {number} value */
export function formatNumber(value) {
  return NUMBER.format(value);
}
