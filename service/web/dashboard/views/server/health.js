/** Whether all answers that the service needs, in words, with what to do where something does not. */

import { Badge } from "../../parts/badge.js";
import { useFetched, usePolled } from "../../parts/fetched.js";
import { Note } from "../../parts/note.js";
import { told } from "../../parts/toast.js";
import { html } from "../../vendor/htm-preact.js";

const EVERY_MS = 15_000;

const NAMES = { store: "Store", llama_server: "llama-server", tool_port: "Tool port" };

const WHAT_TO_DO = {
  store:
    "Nothing can be written, so turns fail until it answers. Is the disk full, or does another process hold the " +
    "file? TURNKEEPER_DATABASE_URL says where it is.",
  llama_server: "Turns are taken all the same, and wait until it answers. “turnkeeper doctor” tells more.",
  tool_port:
    "Calls of its tools fail, and new sessions get the last list that is known. TURNKEEPER_TOOL_PORT_URL says " +
    "where it is, TURNKEEPER_TOOL_PORT_TOKEN opens it.",
};

/**
 * The checks.
 * @param {{api: any}} props
 */
export function Health({ api }) {
  const { value: ready, problem, again } = usePolled((signal) => readiness(api, signal), EVERY_MS);
  const version = useFetched(api, "livez").value?.version;
  return html`<section class="stack" aria-label="Health">
    <div class="row spread">
      <h2>
        ${headingOf(ready)}
      </h2>
      <span class="row">
        ${version && html`<span class="quiet-text">Turnkeeper ${version}</span>`}
        <button type="button" class="small" onClick=${again}>Check again</button>
      </span>
    </div>
    ${problem && html`<${Note} mood="bad">The service could not be asked: ${told(problem)}<//>`}
    ${ready === null && !problem && html`<p class="quiet-text" role="status">Asking …</p>`}
    ${
      ready &&
      html`<ul class="checks card">
        ${ready.checks.map((check) => html`<${Check} key=${check.name} ...${check} />`)}
      </ul>`
    }
  </section>`;
}

function headingOf(ready) {
  if (ready === null) return "Health";
  return ready.ready ? "All that is needed answers" : "Something that is needed does not answer";
}

function Check({ name, ok, message }) {
  return html`<li>
    <h3>${NAMES[name] ?? name}</h3>
    <${Badge} mood=${ok ? "good" : "bad"}>${ok ? "answers" : "does not answer"}<//>
    <div class="words">
      ${message !== "answers" && html`<p class="quiet-text">${message}</p>`}
      ${!ok && WHAT_TO_DO[name] && html`<p class="todo">${WHAT_TO_DO[name]}</p>`}
    </div>
  </li>`;
}

/** What does not answer is told with 503, and in the same form. */
async function readiness(api, signal) {
  const answer = await api.stream("readyz", { signal, headers: { Accept: "application/json" } });
  if (answer.status !== 200 && answer.status !== 503)
    throw new Error(`it answered ${answer.status} ${answer.statusText}`);
  const ready = await answer.json();
  if (!Array.isArray(ready.checks)) throw new Error(ready.detail ?? "its answer has no checks");
  return ready;
}
