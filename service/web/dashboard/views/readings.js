/** Readings: the list of them beside the one that is chosen, or the form that begins one. */

import { useDroppedFiles } from "../parts/drop_files.js";
import { Icon } from "../parts/icons.js";
import { toast } from "../parts/toast.js";
import { goTo, hrefTo, routeOf } from "../route.js";
import { html, useCallback } from "../vendor/htm-preact.js";
import { addFiles, draftAfter } from "./readings/draft.js";
import { ReadingList } from "./readings/list.js";
import { useListing } from "./readings/listing.js";
import { OneReading } from "./readings/reading.js";
import { StartReading } from "./readings/start.js";

/** The place of the form; ids of readings begin with `rdg_`. */
const NEW = "new";

/**
 * The view.
 * @param {{api: any, live: any, route: import("../route.js").Route}} props
 */
export function ReadingsView({ api, route }) {
  const listing = useListing(api);
  const { put, refresh } = listing;
  const isForm = route.id === null || route.id === NEW;
  const isOver = useDroppedFiles((files, folders) => {
    if (folders.length > 0) toast(`${folders.join(", ")}: a folder can't be read. Drop the files in it.`, "bad");
    if (files.length === 0) return;
    addFiles(files);
    goTo("readings", NEW);
  });
  const begun = (reading) => {
    put(reading);
    const now = routeOf(location.hash);
    // Whoever has gone elsewhere meanwhile is not called back.
    if (now.view === "readings" && (now.id === null || now.id === NEW)) goTo("readings", reading.id);
    else toast("The reading has begun.", "good");
  };
  const changed = useCallback((reading) => void (reading ? put(reading) : refresh()), [put, refresh]);
  const again = useCallback((view) => {
    draftAfter(view);
    goTo("readings", NEW);
  }, []);
  return html`<div class="readings split ${route.id === null ? "" : "with-detail"}">
    <${ReadingList} listing=${listing} chosen=${route.id} isNew=${isForm} />
    <div class="detail">
      ${
        isForm
          ? html`<${NewReading} api=${api} title=${route.id === null ? "h2" : "h1"} onBegun=${begun} />`
          : html`<${OneReading} key=${route.id} api=${api} id=${route.id} onAgain=${again} onChanged=${changed} />`
      }
    </div>
    ${isOver && html`<div class="drop-here" aria-hidden="true"><p>Drop to read it</p></div>`}
  </div>`;
}

function NewReading({ api, title, onBegun }) {
  return html`<div class="scroll new-reading">
    <header>
      <a class="button only-narrow" href=${hrefTo("readings")}><${Icon} name="back" />All readings</a>
      <${title}>New reading<//>
      <p class="quiet-text">
        One question over text that is longer than the model's context: contracts, logs, books. The text is read chunk
        by chunk; the model keeps notes, and each note names the place that it came from. It is good where few parts of
        a long text matter. It is no search engine: each question reads all of the text again. Text that fits the
        context is better given whole, in a session.
      </p>
    </header>
    <${StartReading} api=${api} onBegun=${onBegun} />
  </div>`;
}
