/** Records as rows; the JSON of each below it, on demand. */

import { Hash } from "../../parts/hash.js";
import { shortId } from "../../parts/session_link.js";
import { Time } from "../../parts/time.js";
import { VisibleText } from "../../parts/visible_text.js";
import { html, memo, useCallback, useEffect, useRef, useState } from "../../vendor/htm-preact.js";
import { summaryOf } from "./summary.js";

const COLUMNS = 6;
/** More of one record is in the export. */
const JSON_SHOWN = 200_000;

/**
 * A page of a log.
 * @param {{rows: {record: any, hash: string|null}[], target: number|null}} props `target`: the `seq` that was asked for
 */
export function LogTable({ rows, target }) {
  const [open, setOpen] = useState(() => new Set());
  const toggle = useCallback((seq) => {
    setOpen((now) => {
      const changed = new Set(now);
      if (!changed.delete(seq)) changed.add(seq);
      return changed;
    });
  }, []);
  const place = useRef(null);
  useEffect(() => {
    // Another page begins at its top, unless one of its records was asked for.
    if (target === null) place.current.closest(".log-view").scrollTop = 0;
  }, []);
  return html`<table class="records" ref=${place}>
    <thead>
      <tr>
        <th scope="col">Record</th>
        <th scope="col" class="wide">Time</th>
        <th scope="col">Type</th>
        <th scope="col" class="wide">Turn</th>
        <th scope="col">What it says</th>
        <th scope="col" class="wide">Hash</th>
      </tr>
    </thead>
    <tbody>
      ${rows.map(
        (row) =>
          html`<${Row}
            key=${row.record.seq}
            row=${row}
            isOpen=${open.has(row.record.seq)}
            isTarget=${row.record.seq === target}
            onToggle=${toggle}
          />`,
      )}
    </tbody>
  </table>`;
}

const Row = memo(function Row({ row: { record, hash }, isOpen, isTarget, onToggle }) {
  const { seq, type, turn, time } = record;
  const place = useRef(null);
  useEffect(() => {
    if (!isTarget) return;
    place.current.focus({ preventScroll: true });
    place.current.scrollIntoView({ block: "center" });
  }, [isTarget]);
  return html`<tr class=${`${type} ${isTarget ? "target" : ""}`}>
      <td>
        <button
          type="button"
          class="quiet small seq"
          ref=${place}
          aria-expanded=${isOpen}
          aria-label=${`Record ${seq}, ${type}`}
          onClick=${() => onToggle(seq)}
        >
          <span class="mark" aria-hidden="true"></span>${seq}
        </button>
      </td>
      <td class="wide"><${Time} at=${time} /></td>
      <td><code>${type.split("_").map((word, index) => html`${index > 0 && html`_<wbr />`}${word}`)}</code></td>
      <td class="wide mono" title=${turn}>${turn ? shortId(turn) : "–"}</td>
      <td class="says"><span>${summaryOf(record)}</span></td>
      <td class="wide">${hash ? html`<${Hash} value=${hash} what=${`hash of record ${seq}`} />` : "–"}</td>
    </tr>
    ${
      isOpen &&
      html`<tr class="whole">
        <td colspan=${COLUMNS}><${Whole} record=${record} hash=${hash} /></td>
      </tr>`
    }`;
});

function Whole({ record, hash }) {
  return html`${hash && html`<p class="quiet-text">hash <code class="digits">${hash}</code></p>`}
    <pre
      class="raw"
      tabindex="0"
      role="group"
      aria-label=${`Record ${record.seq} as JSON`}
    ><${VisibleText} text=${JSON.stringify(record, null, 2)} limit=${JSON_SHOWN} /></pre>`;
}
