/** What sessions can be made of: the port's tools, what was left out of them and why, and the agents. */

import { Badge } from "../../parts/badge.js";
import { useFetched } from "../../parts/fetched.js";
import { Note } from "../../parts/note.js";
import { told } from "../../parts/toast.js";
import { VisibleText } from "../../parts/visible_text.js";
import { html } from "../../vendor/htm-preact.js";

/**
 * Tools and agents, as they were when the page was opened.
 * @param {{api: any}} props
 */
export function Registry({ api }) {
  const tools = useFetched(api, "tools");
  const agents = useFetched(api, "agents");
  return html`<section class="registry stack" aria-label="Tools and agents">
    <h2>Tools</h2>
    <${Listing}
      told=${tools}
      none="There is no tool port, or it has no tools. Set TURNKEEPER_TOOL_PORT_URL to give sessions tools."
      of=${Tool}
    />
    ${tools.value?.left_out.length > 0 && html`<${LeftOut} tools=${tools.value.left_out} />`}
    <h2>Agents</h2>
    <${Listing}
      told=${agents}
      none="No agent profiles are set, so sessions are made without one. TURNKEEPER_AGENTS_FILE names the file."
      of=${Agent}
    />
  </section>`;
}

function Listing({ told: { value, problem }, none, of: Item }) {
  if (problem) return html`<${Note} mood="bad">${told(problem)}<//>`;
  if (value === null) return html`<p class="quiet-text" role="status">Asking …</p>`;
  if (value.items.length === 0) return html`<p class="quiet-text">${none}</p>`;
  return html`<ul class="card">
    ${value.items.map((item) => html`<${Item} key=${item.name} item=${item} />`)}
  </ul>`;
}

function Tool({ item }) {
  return html`<li>
    <details>
      <summary>
        <code><${VisibleText} text=${item.name} /></code>
        <span class="does one-line"><${VisibleText} text=${item.title ?? item.description} limit=${160} /></span>
        <span class="row">
          ${item.needs_approval && html`<${Badge} mood="warn">asks a person<//>`}
          ${item.acts_outside && html`<${Badge} mood="warn">acts outside<//>`}
          ${item.untrusted && html`<${Badge} mood="warn">reads foreign text<//>`}
          ${item.class !== "public" && html`<${Badge} mood="info">${item.class}<//>`}
        </span>
      </summary>
      <p><${VisibleText} text=${item.description} /></p>
      <p class="quiet-text">
        Gets ${(item.timeout_ms / 1000).toLocaleString("en")} s for a call.
        ${item.repeatable && " May be called again with the same arguments."}
        ${item.idempotent && " A call that was cut by a restart is sent again."}
      </p>
      <pre
        class="raw"
        tabindex="0"
        role="group"
        aria-label=${`Parameters of ${item.name}`}
      ><${VisibleText} text=${JSON.stringify(item.parameters, null, 2)} /></pre>
    </details>
  </li>`;
}

function LeftOut({ tools }) {
  return html`<${Note} mood="warn">
    Left out of the port's list:
    <ul>
      ${tools.map(
        ({ name, reason }) =>
          html`<li>
            <code><${VisibleText} text=${name} /></code>: <${VisibleText} text=${reason} />
          </li>`,
      )}
    </ul>
  <//>`;
}

function Agent({ item }) {
  const { names } = item.tools;
  return html`<li>
    <details>
      <summary>
        <code>${item.name}</code>
        <span class="does one-line">${item.description}</span>
        <span class="row">
          ${item.default && html`<${Badge} mood="good">default<//>`}
          ${item.model && html`<${Badge}>${item.model}<//>`}
        </span>
      </summary>
      <p class="quiet-text">
        ${`Tools: ${names === null ? "all" : names.join(", ") || "none"}. Thinking: ${item.thinking ?? "as usual"}.`}
      </p>
      ${item.system && html`<${SystemPrompt} ...${item} />`}
    </details>
  </li>`;
}

function SystemPrompt({ name, system }) {
  return html`<pre class="raw" tabindex="0" role="group" aria-label=${`System prompt of ${name}`}>
    <${VisibleText} text=${system} />
  </pre>`;
}
