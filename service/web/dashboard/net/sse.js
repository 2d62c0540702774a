// @ts-check
/** Text of a stream to its events, by the rules of the HTML standard; no byte of it is looked at twice. */

/**
 * @typedef {{id: string|null, ownId: boolean, event: string, data: string, retry: number|null}} SseEvent
 *   `id` is the last one that the stream gave, `ownId` says that this event gave it
 * @typedef {SseEvent|{comment: true}|{retry: number}} SseItem a comment shows that the other side lives
 */

const BYTE_ORDER_MARK = "\ufeff";
const LINE_END = /\r\n|\r|\n/g;

/** Reads one stream. */
export class EventParser {
  #isFirst = true;
  /** A line that has not ended yet. */
  #line = "";
  /** Whether the last text ended with CR: an LF behind it ends no line of its own. */
  #afterReturn = false;
  /** @type {string|null} */
  #lastId = null;
  #newId = false;
  #event = "";
  /** @type {string[]} */
  #data = [];
  /** @type {number|null} */
  #retry = null;

  /**
   * Take the next piece of text, cut anywhere.
   * @param {string} text
   * @returns {SseItem[]} what is complete by now
   */
  feed(text) {
    /** @type {SseItem[]} */
    const items = [];
    if (text === "") return items;
    let start = this.#isFirst && text.startsWith(BYTE_ORDER_MARK) ? 1 : 0;
    this.#isFirst = false;
    if (this.#afterReturn && text.startsWith("\n")) start = 1;
    this.#afterReturn = text.endsWith("\r");
    LINE_END.lastIndex = start;
    for (let found = LINE_END.exec(text); found !== null; found = LINE_END.exec(text)) {
      this.#take(this.#line + text.slice(start, found.index), items);
      this.#line = "";
      start = LINE_END.lastIndex;
    }
    this.#line += text.slice(start);
    return items;
  }

  #take(/** @type {string} */ line, /** @type {SseItem[]} */ items) {
    if (line === "") {
      this.#dispatch(items);
      return;
    }
    const colon = line.indexOf(":");
    if (colon === 0) {
      items.push({ comment: true });
      return;
    }
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(line[colon + 1] === " " ? colon + 2 : colon + 1);
    this.#field(name, value, items);
  }

  #field(/** @type {string} */ name, /** @type {string} */ value, /** @type {SseItem[]} */ items) {
    if (name === "data") this.#data.push(value);
    else if (name === "event") this.#event = value;
    else if (name === "id" && !value.includes("\0")) {
      this.#lastId = value;
      this.#newId = true;
    } else if (name === "retry" && /^[0-9]+$/.test(value)) {
      this.#retry = Number(value);
      items.push({ retry: this.#retry });
    }
  }

  #dispatch(/** @type {SseItem[]} */ items) {
    if (this.#data.length > 0) {
      items.push({
        id: this.#lastId,
        ownId: this.#newId,
        event: this.#event || "message",
        data: this.#data.join("\n"),
        retry: this.#retry,
      });
    }
    this.#data = [];
    this.#event = "";
    this.#newId = false;
    this.#retry = null;
  }
}
