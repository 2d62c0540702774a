/** The questions about a session as a whole: its name, its end, a message in other words, and what is fixed in it. */

import { sessionPath } from "../../net/paths.js";
import { Arguments } from "../../parts/arguments.js";
import { Dialog, FormDialog } from "../../parts/dialog.js";
import { FoldedText } from "../../parts/folded_text.js";
import { formatNumber } from "../../state/text.js";
import { html } from "../../vendor/htm-preact.js";
import { keepDraft } from "./draft.js";
import { FORK } from "./words.js";

/**
 * Give a session another title.
 * @param {{api: any, live: any, id: string, title: string, onClose: () => void}} props
 */
export function RenameDialog({ api, live, id, title, onClose }) {
  const rename = async (fields) =>
    live.put(await api.patch(sessionPath(id), { title: String(fields.get("title")).trim() }));
  return html`<${FormDialog} title="Rename" action="Rename" onSubmit=${rename} onClose=${onClose}>
    <label>Title<input name="title" defaultValue=${title} maxlength="200" autofocus /></label>
  <//>`;
}

/**
 * Delete a session, when that is really meant.
 * @param {{api: any, live: any, id: string, title: string, isBusy: boolean, children: number, onClose: () => void,
 *   onDone: () => void}} props
 */
export function DeleteDialog({ api, live, id, title, isBusy, children, onClose, onDone }) {
  const remove = async () => {
    await api.delete(sessionPath(id));
    keepDraft(id, { text: "", tried: null });
    live.drop(id);
    onDone();
  };
  const below = children === 1 ? "session that it handed over to" : `${children} sessions that it handed over to`;
  return html`<${FormDialog}
    title="Delete this session?"
    action="Delete for good"
    danger
    onSubmit=${remove}
    onClose=${onClose}
  >
    <p>
      <strong>${title}</strong> is deleted with its whole log: all messages, thoughts, calls, results and decisions.
      This can't be undone. Export the log first if it may be needed.
    </p>
    ${children > 0 && html`<p>With it goes the log of the ${below}.</p>`}
    ${isBusy && html`<p>What runs in it is stopped.</p>`}
    <p class="quiet-text">Copies that were made of it stay.</p>
  <//>`;
}

/**
 * Say a message in other words.
 * @param {{turn: any, ask: (turn: any, content: string) => Promise<void>, onClose: () => void}} props
 */
export function EditDialog({ turn, ask, onClose }) {
  return html`<${FormDialog}
    title="Say it in other words"
    action="Ask in a copy"
    onSubmit=${(fields) => ask(turn, String(fields.get("content")))}
    onClose=${onClose}
  >
    <p class="quiet-text">${FORK}</p>
    <label>Message<textarea name="content" rows="8" required autofocus defaultValue=${turn.content} /></label>
  <//>`;
}

/**
 * What is fixed for a session's whole life.
 * @param {{baseline: any, onClose: () => void}} props
 */
export function AboutDialog({ baseline, onClose }) {
  const { system, tools, limits, sampling, thinking, compaction } = baseline;
  return html`<${Dialog} title="About this session" onClose=${onClose}>
    <div class="inside about">
      <h2>What is fixed in this session</h2>
      <h3>System prompt</h3>
      ${system ? html`<${FoldedText} class="raw-text" text=${system} />` : html`<p class="quiet-text">none</p>`}
      <h3>Tools</h3>
      <p>
        ${
          tools.names.length > 0
            ? html`<span class="mono">${tools.names.join(", ")}</span>
                <span class="quiet-text"> (${tools.mode}, ${formatNumber(tools.tokens)} tokens of the prompt)</span>`
            : "none"
        }
      </p>
      <h3>Limits of a turn</h3>
      <${Arguments} text=${JSON.stringify(limits)} />
      <h3>Sampling</h3>
      ${
        Object.keys(sampling).length > 0
          ? html`<${Arguments} text=${JSON.stringify(sampling)} />`
          : html`<p class="quiet-text">as the model server has it</p>`
      }
      <p class="quiet-text">Thinking is ${thinking}, summaries are ${compaction}.</p>
      <div class="actions"><button type="button" class="primary" autofocus onClick=${onClose}>Close</button></div>
    </div>
  <//>`;
}
