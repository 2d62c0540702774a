// @ts-check
/** The arguments of a call as text: what can be laid out of it, what a field may show, what keeps it from running. */

const HIDDEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;
const KEPT = "\n\r\t";

/**
 * Read arguments to lay them out.
 * @param {string} text the raw text that the model wrote
 * @returns {Record<string, unknown>|null} null where it is no object, and where laying it out would lose something
 */
export function parsedArguments(text) {
  try {
    const value = JSON.parse(text);
    // Numbers that JavaScript would round are shown as they were written, and so is a name that comes twice.
    return isObject(value) && sameText(JSON.stringify(value), text) ? value : null;
  } catch {
    return null;
  }
}

/**
 * Write hidden characters as JSON does: a field for text would obey them. The meaning stays the same.
 * @param {string} text
 */
export function withEscapes(text) {
  return text.replace(HIDDEN, (character) => {
    if (KEPT.includes(character)) return character;
    const units = Array.from({ length: character.length }, (_, index) => character.charCodeAt(index));
    return units.map((unit) => `\\u${unit.toString(16).padStart(4, "0")}`).join("");
  });
}

/**
 * Say what keeps a text from being arguments. The tool's own schema is checked by the service.
 * @param {string} text
 * @returns {string|null} null when nothing does
 */
export function faultOf(text) {
  let value;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return `This is no JSON: ${/** @type {Error} */ (error).message}`;
  }
  return isObject(value) ? null : 'Arguments are a JSON object, like {"city": "Paris"}.';
}

/** @param {any} value */
function isObject(value) {
  return value !== null && typeof value === "object" && !Array.isArray(value);
}

/** @param {string} one @param {string} other */
function sameText(one, other) {
  return withoutBlanks(one) === withoutBlanks(other);
}

/** Blanks outside of texts mean nothing; escapes within texts are written in different ways. @param {string} text */
function withoutBlanks(text) {
  return text.replace(/"(?:[^"\\]|\\.)*"|\s+/g, (piece) => (piece[0] === '"' ? JSON.stringify(JSON.parse(piece)) : ""));
}
