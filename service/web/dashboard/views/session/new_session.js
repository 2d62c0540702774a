/** Begins a session: with which agent, what prompt, which tools. */

import { FormDialog } from "../../parts/dialog.js";
import { useFetched } from "../../parts/fetched.js";
import { Note } from "../../parts/note.js";
import { useRequestKey } from "../../parts/request_key.js";
import { told } from "../../parts/toast.js";
import { goTo } from "../../route.js";
import { clip, visible } from "../../state/text.js";
import { html, useState } from "../../vendor/htm-preact.js";

/** Code points of what a tool does, beside its name. */
const WORDS_OF_A_TOOL = 120;

/**
 * The dialog.
 * @param {{api: any, live: any, onClose: () => void}} props
 */
export function NewSession({ api, live, onClose }) {
  const agents = useFetched(api, "agents").value?.items ?? [];
  const tools = useFetched(api, "tools");
  const [chosen, setChosen] = useState("");
  const [which, setWhich] = useState("usual");
  const keyOf = useRequestKey();
  const agent = agents.find(({ name }) => name === chosen) ?? agents.find((one) => one.default) ?? null;
  const create = async (fields) => {
    const body = sessionOf(fields);
    const made = await api.post("sessions", body, { idempotencyKey: keyOf(body) });
    live.put(made);
    goTo("sessions", made.id);
  };
  return html`<${FormDialog} title="New session" action="Begin" onSubmit=${create} onClose=${onClose}>
    ${
      agents.length > 0 &&
      html`<label>
      Agent
      <select name="agent" value=${chosen} onChange=${(event) => setChosen(event.target.value)}>
        <option value="">${agent?.default ? `the default, ${agent.name}` : "none"}</option>
        ${agents.map(({ name }) => html`<option value=${name}>${name}</option>`)}
      </select>
      ${agent && html`<span class="quiet-text">${agent.description}</span>`}
    </label>`
    }
    <label>Title<input name="title" maxlength="200" autofocus placeholder="Empty: the first message" /></label>
    <label>
      System prompt
      <textarea
        name="system"
        rows="3"
        placeholder=${agent?.system ? `Empty: the agent's. “${clip(agent.system, 300)}”` : "Empty: none"}
      ></textarea>
    </label>
    <fieldset>
      <legend>Tools</legend>
      <label class="row">
        <span class="visually-hidden">Which</span>
        <select name="tools" value=${which} onChange=${(event) => setWhich(event.target.value)}>
          <option value="usual">${agent ? "those of the agent" : "as the service has it: all"}</option>
          <option value="all">all of the tool port</option>
          <option value="none">none</option>
          <option value="some">a choice</option>
        </select>
      </label>
      ${which === "some" && html`<${Choice} told=${tools} />`}
      ${(which === "some" || which === "all") && html`<${Mode} />`}
    </fieldset>
    <label>
      Thinking
      <select name="thinking">
        <option value="">${agent?.thinking ? `as the agent has it: ${agent.thinking}` : "as usual: on"}</option>
        <option value="on">on</option>
        <option value="off">off</option>
      </select>
    </label>
  <//>`;
}

function Choice({ told: { value, problem } }) {
  if (problem) return html`<${Note} mood="bad">${told(problem)}<//>`;
  if (value === null) return html`<p class="quiet-text" role="status">Asking for the tools …</p>`;
  if (value.items.length === 0) return html`<p class="quiet-text">There is no tool port, or it has no tools.</p>`;
  return html`<ul class="choice">
    ${value.items.map(
      ({ name, title, description, needs_approval: asks }) => html`<li>
        <label>
          <input type="checkbox" name="tool" value=${name} />
          <span>
            <span class="mono">${visible(name, { keep: "" })}</span>${" "}
            <span class="quiet-text">
              ${visible(clip(title ?? description, WORDS_OF_A_TOOL), { keep: "" })}${asks && " (asks a person first)"}
            </span>
          </span>
        </label>
      </li>`,
    )}
  </ul>`;
}

function Mode() {
  return html`<label>
    How the model sees them
    <select name="mode">
      <option value="">by their number: all, or to be searched where they are many</option>
      <option value="direct">all, in its prompt</option>
      <option value="discover">to be searched; the prompt stays short</option>
    </select>
  </label>`;
}

/** What is asked for; what was left as it is isn't said, so that agent and settings decide it. */
function sessionOf(fields) {
  const given = (name) => String(fields.get(name) ?? "").trim();
  const asked = { agent: given("agent"), title: given("title"), system: given("system"), thinking: given("thinking") };
  const said = Object.fromEntries(Object.entries(asked).filter(([, value]) => value !== ""));
  const mode = given("mode");
  const tools = {
    usual: null,
    none: { names: [] },
    all: { names: null, ...(mode && { mode }) },
    some: { names: fields.getAll("tool").map(String), ...(mode && { mode }) },
  }[given("tools")];
  return tools ? { ...said, tools } : said;
}
