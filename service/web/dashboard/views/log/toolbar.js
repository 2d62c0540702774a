/** What of a log is asked for: by type, by turn, by number; and the whole of it as a file. */

import { sessionPath } from "../../net/paths.js";
import { useBusy } from "../../parts/busy.js";
import { exportLog } from "../../parts/export_log.js";
import { shortId } from "../../parts/session_link.js";
import { orToast } from "../../parts/toast.js";
import { clip, visible } from "../../state/text.js";
import { html, useEffect, useState } from "../../vendor/htm-preact.js";
import { TYPES } from "./summary.js";

const WORDS_OF_A_TURN = 40;

/**
 * The bar above a log.
 * @param {{api: any, id: string, log: any, onJump: (seq: number) => void}} props `log` as of use_log.js
 */
export function Toolbar({ api, id, log, onJump }) {
  const turns = useTurns({ api, id, lastSeq: log.lastSeq });
  const chooseTurn = (turn) => {
    const range = turns.find((one) => one.id === turn);
    log.choose({ turn, first: range?.first_seq ?? 1, last: range?.finished_at ? range.last_seq : null });
  };
  return html`<div class="toolbar">
    <label>
      Type
      <select value=${log.filter.type} onChange=${(event) => log.choose({ type: event.target.value })}>
        <option value="">all types</option>
        ${TYPES.map((type) => html`<option value=${type}>${type}</option>`)}
      </select>
    </label>
    <label>
      Turn
      <select value=${log.filter.turn} onChange=${(event) => chooseTurn(event.target.value)}>
        <option value="">all turns</option>
        ${turns.map(({ id: turn, content }) => html`<option value=${turn}>${nameOf(turn, content)}</option>`)}
      </select>
    </label>
    <${Jump} last=${log.lastSeq} onJump=${onJump} />
    <${Export} api=${api} id=${id} />
  </div>`;
}

function nameOf(turn, content) {
  return `${shortId(turn)} ${visible(clip(content ?? "", WORDS_OF_A_TURN), { keep: "" })}`;
}

function Jump({ last, onJump }) {
  const [text, setText] = useState("");
  const submit = (event) => {
    event.preventDefault();
    if (text) onJump(Number(text));
  };
  return html`<form class="jump" onSubmit=${submit}>
    <label>
      Record
      <input
        type="number"
        min="1"
        max=${Math.max(1, last)}
        value=${text}
        placeholder=${`1 – ${last}`}
        onInput=${(event) => setText(event.target.value)}
      />
    </label>
    <button type="submit" disabled=${!text}>Go there</button>
  </form>`;
}

function Export({ api, id }) {
  const [busy, run] = useBusy();
  const save = () => run(() => orToast(exportLog(api, id)));
  return html`<button type="button" class="export" disabled=${busy} onClick=${save}>
    ${busy ? "Exporting …" : "Export"}
  </button>`;
}

/** The turns of the session, asked for again when records of a new one may have come. */
function useTurns({ api, id, lastSeq }) {
  const [turns, setTurns] = useState([]);
  const known = lastSeq > 0;
  useEffect(() => {
    if (!known) return undefined;
    const left = new AbortController();
    // Without them the log can be read all the same.
    api.get(`${sessionPath(id)}/turns`, { signal: left.signal }).then(
      ({ items }) => setTurns(items),
      () => {},
    );
    return () => left.abort();
  }, [api, id, known, Math.floor(lastSeq / 20)]);
  return turns;
}
