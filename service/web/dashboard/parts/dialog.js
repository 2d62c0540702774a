/** A question in front of the page: the browser's own dialog, so that keys and focus are as they should be. */

import { html, useEffect, useRef, useState } from "../vendor/htm-preact.js";
import { useBusy } from "./busy.js";
import { Note } from "./note.js";
import { told } from "./toast.js";

/**
 * Open a `dialog` in front of all else for as long as the caller is rendered.
 * @returns {{current: any}} the ref of the `dialog`
 */
export function useModal() {
  const place = useRef(null);
  // Not before it is drawn: the menu that it was chosen from closes first, and takes the focus.
  useEffect(() => {
    const dialog = place.current;
    const opener = document.activeElement;
    dialog.showModal();
    return () => {
      dialog.close();
      // A browser gives the focus back to what had it, unless the dialog is gone too soon.
      requestAnimationFrame(() => document.activeElement === document.body && opener?.focus());
    };
  }, []);
  return place;
}

/**
 * A dialog that is open as long as it is rendered.
 * @param {{title: string, onClose: () => void, children: any}} props
 */
export function Dialog({ title, onClose, children }) {
  return html`<dialog ref=${useModal()} aria-label=${title} onClose=${onClose}>${children}</dialog>`;
}

/**
 * A dialog with a form; it stays open, with the reason, when what was asked for is refused.
 * @param {{title: string, action: string, danger?: boolean, onSubmit: (fields: FormData) => Promise<void>,
 *   onClose: () => void, children: any}} props
 */
export function FormDialog({ title, action, danger = false, onSubmit, onClose, children }) {
  const [refusal, setRefusal] = useState(null);
  const [busy, run] = useBusy();
  const submit = async (event) => {
    event.preventDefault();
    const fields = new FormData(event.target);
    setRefusal(null);
    await run(async () => {
      try {
        await onSubmit(fields);
        onClose();
      } catch (problem) {
        setRefusal(told(problem));
      }
    });
  };
  return html`<${Dialog} title=${title} onClose=${onClose}>
    <form onSubmit=${submit}>
      <h2>${title}</h2>
      ${children} ${refusal && html`<${Note} mood="bad" alert>${refusal}<//>`}
      <div class="actions">
        <button type="button" class="quiet" onClick=${onClose}>Cancel</button>
        <button type="submit" class=${danger ? "danger" : "primary"} disabled=${busy}>${action}</button>
      </div>
    </form>
  <//>`;
}
