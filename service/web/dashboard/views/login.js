/** Asks for the API key, where the service wants one. It stays in this tab and goes into a header, never an address. */

import { useBusy } from "../parts/busy.js";
import { useModal } from "../parts/dialog.js";
import { Note } from "../parts/note.js";
import { told } from "../parts/toast.js";
import { html, useState } from "../vendor/htm-preact.js";

const WRITTEN = /^[\x21-\x7e]+$/;

/**
 * The login, in front of all else: what is behind it stays as it was.
 * @param {{api: any, onDone: () => void}} props
 */
export function Login({ api, onDone }) {
  const [refusal, setRefusal] = useState(null);
  const [busy, run] = useBusy();
  const place = useModal();
  const check = async (key) => {
    if (!WRITTEN.test(key)) return "This is no key: a key has letters, digits and signs alone, and no blanks.";
    try {
      await api.get("sessions?limit=1", { headers: { Authorization: `Bearer ${key}` } });
    } catch (problem) {
      if (problem.status === 401) return "This key is not known. Was it revoked, or is a part of it missing?";
      // A key that may do something else alone is a key.
      if (problem.status !== 403) return told(problem);
    }
    api.setKey(key);
    onDone();
    return null;
  };
  const submit = (event) => {
    event.preventDefault();
    const key = String(new FormData(event.target).get("key")).trim();
    setRefusal(null);
    void run(async () => setRefusal(await check(key)));
  };
  // Browsers close a dialog by Escape, a second time whatever the page says.
  const stay = () => place.current?.isConnected && !place.current.open && place.current.showModal();
  return html`<dialog
    class="login"
    ref=${place}
    aria-labelledby="login-title"
    onCancel=${(event) => event.preventDefault()}
    onClose=${stay}
  >
    <form class="card" onSubmit=${submit}>
      <img src="dashboard/icon.svg" alt="" width="40" height="40" />
      <h1 id="login-title">Turnkeeper</h1>
      <p class="quiet-text">This service wants an API key. <code>turnkeeper keys add NAME</code> makes one.</p>
      <label>
        API key
        <input name="key" type="password" autocomplete="current-password" required autofocus />
      </label>
      ${refusal && html`<${Note} mood="bad" alert>${refusal}<//>`}
      <button type="submit" class="primary" disabled=${busy}>Go on</button>
    </form>
  </dialog>`;
}
