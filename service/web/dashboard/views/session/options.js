/** How a turn is run, where somebody wants it otherwise than usual. */

import { useOpening } from "../../parts/menu.js";
import { html } from "../../vendor/htm-preact.js";

/** As usual. */
export const NO_OPTIONS = Object.freeze({ toolChoice: "auto", onToolLimit: "stop", maxTokens: "" });

/**
 * Say what is asked for, in the words of the service.
 * @param {typeof NO_OPTIONS} options
 */
export function asked({ toolChoice, onToolLimit, maxTokens }) {
  return {
    ...(toolChoice !== "auto" && { tool_choice: toolChoice }),
    ...(onToolLimit !== "stop" && { on_tool_limit: onToolLimit }),
    ...(maxTokens !== "" && { limits: { max_tokens: Number(maxTokens) } }),
  };
}

/**
 * The choices, folded away.
 * @param {{options: typeof NO_OPTIONS, baseline: any, onChange: (options: typeof NO_OPTIONS) => void}} props
 */
export function TurnOptions({ options, baseline, onChange }) {
  const opening = useOpening();
  const set = (name) => (event) => onChange({ ...options, [name]: event.target.value });
  const changed = Object.keys(asked(options)).length;
  const hasTools = (baseline?.tools?.names?.length ?? 0) > 0;
  return html`<details class="options" ...${opening}>
    <summary class="quiet-text">Options${changed > 0 && ` (${changed} set)`}</summary>
    <div class="fields">
      ${
        hasTools &&
        html`<label>
          Tools
          <select value=${options.toolChoice} onChange=${set("toolChoice")}>
            <option value="auto">the model decides</option>
            <option value="none">none in this turn</option>
            <option value="required">it has to call one</option>
          </select>
        </label>
        <label>
          When too many rounds of calls were made
          <select value=${options.onToolLimit} onChange=${set("onToolLimit")}>
            <option value="stop">end the turn</option>
            <option value="conclude">have it answer with what it has</option>
          </select>
        </label>`
      }
      <label>
        Longest answer, in tokens
        <input
          type="number"
          min="1"
          max=${baseline?.limits?.max_tokens}
          placeholder=${baseline?.limits?.max_tokens}
          value=${options.maxTokens}
          onInput=${set("maxTokens")}
        />
      </label>
    </div>
  </details>`;
}
