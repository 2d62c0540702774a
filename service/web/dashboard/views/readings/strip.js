/** A strip with a cell for each chunk of a pass; the cells are buttons, and the arrow keys move along them. */

import { formatNumber } from "../../state/text.js";
import { html, memo, useCallback, useRef, useState } from "../../vendor/htm-preact.js";
import { CELL_STATES, cellName, countStates } from "./words.js";

/** Cells that are drawn anew together: a thousand of them must not be, at each word that comes. */
const RUN = 50;
/** From this many cells on they are small. */
const MANY = 240;
/** What of a cell is to be seen; its text is not. */
const DRAWN = ["state", "update", "exit", "pUpdate", "pExit", "exitRefused", "document", "start", "end"];

/**
 * A pass as a strip.
 * @param {{pass: any, documents: any[], name: string, chosen: number|null,
 *   onChoose: (key: string, chunk: number) => void}} props
 */
export const Strip = memo(function Strip({ pass, documents, name, chosen, onChoose }) {
  const { key, cells } = pass;
  const place = useRef(null);
  // One cell is where Tab leads to; the arrows lead to the others.
  const [stop, setStop] = useState(0);
  const tabStop = Math.min(stop, cells.length - 1);
  const choose = useCallback((chunk) => onChoose(key, chunk), [key, onChoose]);
  const move = (event) => {
    const next = nextCell(event.key, tabStop, cells.length, place.current);
    if (next === null) return;
    event.preventDefault();
    setStop(next);
    place.current.querySelector(`[data-cell="${next}"]`)?.focus();
  };
  const focused = (event) => {
    const at = event.target.dataset.cell;
    if (at !== undefined) setStop(Number(at));
  };
  const runs = [];
  for (let from = 0; from < cells.length; from += RUN) {
    const has = (at) => (at !== null && at >= from && at < from + RUN ? at : null);
    runs.push(
      html`<${CellRun}
        key=${from}
        cells=${cells}
        from=${from}
        pass=${pass}
        documents=${documents}
        stop=${has(tabStop)}
        chosen=${has(chosen === null ? null : chosen - 1)}
        onChoose=${choose}
      />`,
    );
  }
  return html`<div
    class="cells ${cells.length > MANY ? "many" : ""}"
    role="toolbar"
    aria-label="${name}: ${formatNumber(cells.length)} ${pass.level > 1 ? "memories" : "chunks"}"
    ref=${place}
    onKeyDown=${move}
    onFocusIn=${focused}
  >
    ${runs}
  </div>`;
});

const CellRun = memo(function CellRun({ cells, from, pass, documents, stop, chosen, onChoose }) {
  return cells.slice(from, from + RUN).map((cell, index) => {
    const at = from + index;
    const name = cellName(cell, pass, documents);
    return html`<button
      type="button"
      key=${cell.chunk}
      class="cell ${cell.state} ${cell.exit ? "exit" : ""}"
      data-cell=${at}
      tabindex=${at === stop ? 0 : -1}
      aria-label=${name}
      aria-pressed=${at === chosen ? "true" : "false"}
      title=${name}
      onClick=${() => onChoose(cell.chunk)}
    ></button>`;
  });
}, isSameRun);

function isSameRun(before, after) {
  const { cells, from } = after;
  if (["from", "documents", "stop", "chosen", "onChoose"].some((name) => before[name] !== after[name])) return false;
  if (before.cells === cells) return true;
  if (before.cells.length !== cells.length) return false;
  for (let at = from; at < Math.min(from + RUN, cells.length); at += 1) {
    const one = before.cells[at];
    const other = cells[at];
    if (one !== other && DRAWN.some((field) => one[field] !== other[field])) return false;
  }
  return true;
}

function nextCell(key, at, count, place) {
  const columns = getComputedStyle(place).gridTemplateColumns.split(" ").length;
  const next = {
    ArrowRight: at + 1,
    ArrowLeft: at - 1,
    ArrowDown: at + columns,
    ArrowUp: at - columns,
    Home: 0,
    End: count - 1,
  };
  return Object.hasOwn(next, key) && next[key] >= 0 && next[key] < count ? next[key] : null;
}

/**
 * What the cells of a reading mean, with how many there are of each.
 * @param {{passes: any[], isOver: boolean}} props when it is over, only those that there are
 */
export function Legend({ passes, isOver }) {
  const sums = {};
  let exits = 0;
  for (const { cells } of passes) {
    for (const [state, count] of Object.entries(countStates(cells))) sums[state] = (sums[state] ?? 0) + count;
    exits += cells.reduce((sum, cell) => sum + (cell.exit ? 1 : 0), 0);
  }
  return html`<ul class="legend" aria-label="What the cells mean">
    ${Object.entries(CELL_STATES).map(
      ([state, words]) =>
        (!isOver || sums[state] > 0) &&
        html`<li key=${state}><span
          class="cell ${state}"
          aria-hidden="true"
        ></span>${words} <b>${formatNumber(sums[state] ?? 0)}</b></li>`,
    )}
    ${
      (!isOver || exits > 0) &&
      html`<li><span
        class="cell kept exit"
        aria-hidden="true"
      ></span>with a bar at its end: the exit gate says yes <b>${formatNumber(exits)}</b></li>`
    }
  </ul>`;
}
