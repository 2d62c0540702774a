/** A session: its head, its turns as they happen, and the place to write to it. */

import { useLive } from "../../live.js";
import { sessionPath } from "../../net/paths.js";
import { Apology } from "../../parts/apology.js";
import { useBusy } from "../../parts/busy.js";
import { exportLog } from "../../parts/export_log.js";
import { Note } from "../../parts/note.js";
import { useRequestKey } from "../../parts/request_key.js";
import { orToast, toast } from "../../parts/toast.js";
import { goTo, hrefTo } from "../../route.js";
import { clip, formatNumber } from "../../state/text.js";
import { html, useCallback, useMemo, useState } from "../../vendor/htm-preact.js";
import { Composer } from "./composer.js";
import { AboutDialog, DeleteDialog, EditDialog, RenameDialog } from "./dialogs.js";
import { useSession } from "./follow_session.js";
import { Header } from "./header.js";
import { askAgain } from "./requests.js";
import { rowTitle, TITLE_LENGTH } from "./row_title.js";
import { Turns } from "./turns.js";
import { waitingText } from "./words.js";

const BACK = { href: hrefTo("sessions"), words: "Back to the sessions" };

/**
 * A session.
 * @param {{api: any, live: any, id: string}} props
 */
export function Session({ api, live, id }) {
  const { view, connection, resource, loaded, put } = useSession(api, id);
  const row = useLive(live, (state) => state.list.rows[id] ?? null);
  const title = row?.title ?? resource?.title ?? "";
  const [dialog, setDialog] = useState(null);
  const close = useCallback(() => setDialog(null), []);
  const actions = useActions({ api, id, put, open: setDialog });
  const [again, asking] = useAgain({ api, id, limits: view.baseline?.limits, title, open: setDialog });
  const nameIt = useCallback(
    (content) => {
      if (title !== "" || resource === null) return;
      // A name is worth no complaint.
      api
        .patch(sessionPath(id), { title: clip(content.trim().split("\n")[0], TITLE_LENGTH) })
        .then(live.put, () => {});
    },
    [api, live, id, title, resource],
  );

  const apology = apologyOf(view, connection);
  if (apology) {
    const [what, why] = apology;
    return html`<${Apology} title=${what} back=${BACK}>${why}<//>`;
  }
  const state = stateOf(view, row, resource);
  const name = rowTitle({ id, title, lastText: firstWords(view) });
  const isNew = loaded && view.order.length === 0;
  return html`<section class="session" aria-label="Session">
    <${Header}
      id=${id}
      title=${name}
      state=${state}
      agent=${view.agent}
      model=${view.baseline?.model ?? null}
      size=${resource?.context.size_tokens ?? null}
      used=${view.usedTokens}
      usage=${view.usage}
      parent=${view.parent}
      fork=${view.fork}
      untrusted=${view.untrusted}
      reconnecting=${connection === "reconnecting"}
      actions=${actions}
    />
    <${News} view=${view} />
    ${
      loaded
        ? isNew
          ? html`<${Beginning} />`
          : html`<${Turns} view=${view} again=${again} busy=${asking} api=${api} live=${live} />`
        : html`<${Loading} view=${view} resource=${resource} />`
    }
    <${Composer}
      api=${api}
      id=${id}
      running=${view.running}
      baseline=${view.baseline}
      isNew=${isNew}
      onSent=${isNew ? nameIt : null}
    />
    ${
      dialog?.kind === "rename" &&
      html`<${RenameDialog} api=${api} live=${live} id=${id} title=${title || name} onClose=${close} />`
    }
    ${dialog?.kind === "about" && view.baseline && html`<${AboutDialog} baseline=${view.baseline} onClose=${close} />`}
    ${dialog?.kind === "edit" && html`<${EditDialog} turn=${dialog.turn} ask=${dialog.ask} onClose=${close} />`}
    ${
      dialog?.kind === "remove" &&
      html`<${DeleteDialog}
      api=${api}
      live=${live}
      id=${id}
      title=${name}
      isBusy=${state !== "idle"}
      children=${Object.keys(view.family).length}
      onClose=${close}
      onDone=${() => goTo("sessions")}
    />`
    }
  </section>`;
}

function stateOf(view, row, resource) {
  const turn = view.running === null ? null : view.turns[view.running];
  if (turn) return turn.state;
  return view.lastSeq > 0 ? "idle" : (row?.state ?? resource?.state ?? "idle");
}

function firstWords(view) {
  return view.order.length > 0 ? view.turns[view.order[0]].content : null;
}

/** What the menu does; a dialog is opened by its name. */
function useActions({ api, id, put, open }) {
  return useMemo(
    () => ({
      rename: () => open({ kind: "rename" }),
      about: () => open({ kind: "about" }),
      remove: () => open({ kind: "remove" }),
      exportLog: () => orToast(exportLog(api, id)),
      compact: async () => {
        const done = await orToast(api.post(`${sessionPath(id)}/compact`));
        if (done === undefined) return;
        put(done.session);
        toast(done.detail);
      },
    }),
    [api, id, put],
  );
}

/** Ask again in a copy: the same, or in other words. */
function useAgain({ api, id, limits, title, open }) {
  const [asking, run] = useBusy();
  const keyOf = useRequestKey();
  const again = useMemo(() => {
    const ask = async (turn, content) => {
      const key = keyOf({ turn: turn.id, content });
      const made = await askAgain(api, { session: id, turn, limits, title, content, key });
      goTo("sessions", made.id);
    };
    return {
      edit: (turn) => open({ kind: "edit", turn, ask }),
      repeat: (turn) => run(() => orToast(ask(turn, turn.content))),
    };
  }, [api, id, limits, title]);
  return [again, asking];
}

/** What concerns the whole session now. */
function News({ view }) {
  return html`${
    view.storeError &&
    html`<${Note} mood="bad" alert>
      The store can't be written to, so the last turn stopped. The next message works when it can.
    <//>`
  }
    ${view.shuttingDown && html`<${Note} mood="warn">The service is stopping. What runs goes on when it is back.<//>`}
    ${
      view.byHand &&
      html`<${Note} mood="info">A summary is being made. ${view.byHand.waiting && waitingText(view.byHand.waiting)}<//>`
    }`;
}

function Loading({ view, resource }) {
  const of = resource ? ` of ${formatNumber(resource.last_seq)}` : "";
  const far = view.lastSeq > 0 ? `: ${formatNumber(view.lastSeq)}${of} records` : " …";
  return html`<div class="empty" role="status">Reading the log${far}</div>`;
}

function Beginning() {
  return html`<div class="empty beginning">
    <h2>Nothing was said yet</h2>
    <p>Write the first message below. You will see what the model thinks, writes and calls while it does so.</p>
  </div>`;
}

/** Why there is nothing to show. */
const APOLOGIES = {
  deleted: ["This session was deleted", "Its log is gone with it."],
  gone: [
    "There is no such session",
    "It was deleted, or it belongs to somebody else, or the address is wrong.",
  ],
  forbidden: [
    "This session is not shown",
    "The service does not let this page, or the key that it was given, see sessions.",
  ],
};

function apologyOf(view, connection) {
  return APOLOGIES[view.deleted ? "deleted" : connection] ?? null;
}
