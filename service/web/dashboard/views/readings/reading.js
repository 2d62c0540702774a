/** One reading, as it goes on or as it went. */

import { Apology } from "../../parts/apology.js";
import { VisibleText } from "../../parts/visible_text.js";
import { hrefTo } from "../../route.js";
import { formatNumber } from "../../state/text.js";
import { html, memo, useCallback, useEffect, useState } from "../../vendor/htm-preact.js";
import { Answer } from "./answer.js";
import { CellDetails } from "./cell_details.js";
import { Head } from "./head.js";
import { Memories } from "./memories.js";
import { Legend, Strip } from "./strip.js";
import { useReading } from "./use_reading.js";
import { passName } from "./words.js";

const BACK = { href: hrefTo("readings"), words: "All readings" };

/** From this many on they have a scroll of their own, so that what is chosen stays near. */
const MANY_PASSES = 8;

/**
 * A reading.
 * @param {{api: any, id: string, onAgain: (reading: any) => void, onChanged: (reading: any) => void}} props
 */
export const OneReading = memo(function OneReading({ api, id, onAgain, onChanged }) {
  const { view, connection } = useReading(api, id);
  const isOver = view.state === "finished";
  // The list tells the same end as the page beside it.
  useEffect(() => void (isOver && onChanged(null)), [isOver]);
  if (APOLOGIES[connection]) {
    const [what, why] = APOLOGIES[connection];
    return html`<${Apology} title=${what} back=${BACK}>${why}<//>`;
  }
  if (view.created === null) {
    return html`<p
      class="empty"
      role="status"
    >${connection === "reconnecting" ? "The service is not there; trying again …" : "Loading …"}</p>`;
  }
  const again = () => onAgain(view);
  return html`<div class="scroll reading">
    <${Head} view=${view} connection=${connection} api=${api} onAgain=${again} onChanged=${onChanged} />
    <p
      class="visually-hidden"
      role="status"
    >${isOver ? `The reading has ended: ${view.outcome.replaceAll("_", " ")}` : ""}</p>
    <${Answer} view=${view} />
    <${Chunks} view=${view} isOver=${isOver} />
  </div>`;
});

/** Why there is nothing to show. */
const APOLOGIES = {
  gone: [
    "There is no such reading",
    "It may have been deleted since: finished readings are kept as long as the service is told to (setting " +
      "retention_days).",
  ],
  forbidden: [
    "This reading is not shown",
    "The service does not let this page, or the key that it was given, see readings.",
  ],
};

/** The strips, the cell that is chosen, and the memory. Unless somebody chooses, it is the cell that is being read. */
function Chunks({ view, isOver }) {
  const [chosen, setChosen] = useState(null);
  const [chosenPass, setPass] = useState(null);
  const choose = useCallback((key, chunk) => {
    setChosen({ key, chunk });
    setPass(key);
  }, []);
  if (view.passes.length === 0) return null;
  const place = chosen ?? beingRead(view);
  const pass = place && view.passes.find(({ key }) => key === place.key);
  const cell = pass?.cells[place.chunk - 1];
  const step = (by) => choose(place.key, place.chunk + by);
  const follow = () => {
    setChosen(chosen === null ? place : null);
    setPass(null);
  };
  const many = view.passes.length > MANY_PASSES;
  return html`<section class="strips" aria-label="Chunks">
      <div class="passes ${many ? "many" : ""}">
        ${view.passes.map((one) => {
          const isHere = place?.key === one.key;
          return html`<${OnePass}
            key=${one.key}
            pass=${one}
            documents=${view.documents}
            isOver=${isOver}
            chosen=${isHere ? place.chunk : null}
            onChoose=${choose}
          />`;
        })}
      </div>
      <${Legend} passes=${view.passes} isOver=${isOver} />
      <p class="quiet-text about-gates">
        How to take the gates: most models were not trained to set them. A probability near 0.5 means that the model
        tossed a coin; exit gates come too early. docs/readings.md says what is known of it.
      </p>
    </section>
    <div class="below">
      <div>
        ${
          cell &&
          html`<${CellDetails}
          cell=${cell}
          pass=${pass}
          documents=${view.documents}
          budget=${view.options.memory_budget}
          ended=${isOver}
          following=${chosen === null}
          onStep=${step}
          onFollow=${follow}
        />`
        }
      </div>
      <${Memories} view=${view} chosenPass=${chosenPass} onPass=${setPass} />
    </div>`;
}

const OnePass = memo(function OnePass({ pass, documents, isOver, chosen, onChoose }) {
  const name = passName(pass, documents);
  return html`<div>
    <h2 class="pass-name"><${VisibleText}
      text=${name}
      limit=${300}
    /> <span class="quiet-text">${stood(pass, isOver)}</span></h2>
    ${pass.cells.length > 0 && html`<${Strip}
      pass=${pass}
      documents=${documents}
      name=${name}
      chosen=${chosen}
      onChoose=${onChoose}
    />`}
  </div>`;
});

/** What a pass is at. */
function stood(pass, isOver) {
  if (pass.cells.length === 0) return isOver ? "not read" : "begins when all documents are read";
  const exit = pass.exited ? ", ended early by its exit gate" : "";
  const [seen, all, used] = [pass.seen, pass.cells.length, pass.used].map(formatNumber);
  return `${seen} of ${all} read, ${used} of use${exit}`;
}

/** The cell that is being read, or the last that was; when all is over, the one that the last memory came from. */
function beingRead(view) {
  if (view.state === "finished") return lastOfUse(view);
  for (const pass of view.passes) {
    const cell = pass.cells[pass.seen];
    if (cell?.state === "reading") return { key: pass.key, chunk: cell.chunk };
  }
  return lastSeen(view);
}

function lastOfUse(view) {
  const last = view.memories.at(-1);
  const pass =
    last && view.passes.find((one) => one.level === last.level && (last.level > 1 || one.document === last.document));
  return pass ? { key: pass.key, chunk: last.chunk } : lastSeen(view);
}

function lastSeen(view) {
  const going = view.passes.findLast((pass) => pass.seen > 0) ?? view.passes[0];
  return going.cells.length > 0 ? { key: going.key, chunk: Math.max(1, going.seen) } : null;
}
