/** What the model's chat template can do, in words. */

import { Badge } from "../../parts/badge.js";
import { Note } from "../../parts/note.js";
import { html } from "../../vendor/htm-preact.js";

const THINKING = {
  none: "Thinking can't be switched off.",
  tail: "Thinking can be switched off, and the cache stays of use.",
  head: "Thinking can be switched off; the head of the prompt differs then.",
};

/**
 * A template.
 * @param {{template: any, words: string[]}} props `words`: what a person should know of it, as the service says it
 */
export function Template({ template, words }) {
  if (template === null)
    return html`<p class="quiet-text">
      The model's chat template is not known yet: llama-server was not reached since the start.
    </p>`;
  return html`<details class="template">
    <summary>
      The model's chat template${words.length > 0 && html` <${Badge} mood="warn">${words.length} to know<//>`}
    </summary>
    ${words.map((line) => html`<${Note} mood="warn" key=${line}>${line}<//>`)}
    <ul>
      ${factsOf(template).map((fact) => html`<li>${fact}</li>`)}
    </ul>
    <p class="quiet-text">hash <code>${template.hash}</code></p>
  </details>`;
}

function factsOf(template) {
  return [
    template.tools ? "It shows tools to the model." : "It does not show tools to the model.",
    template.tools &&
      (template.parallel ? "Several calls in one step are shown as they were made." : "It takes one call at a time."),
    template.tools && template.call_id === "nine" && "Ids of calls are nine letters or digits.",
    template.tools && template.object_arguments && "Arguments of calls are shown as objects.",
    template.system_role ? "It has a place for a system prompt." : "It has no place for a system prompt.",
    template.alternates && "Messages of user and assistant must alternate.",
    template.keeps_turns ? "Finished turns stay as they were, so the cache holds." : "It rewrites finished turns.",
    template.keeps_steps
      ? "Steps of the running turn stay as they were."
      : "It rewrites the running turn at each step.",
    THINKING[template.thinking_off],
  ].filter(Boolean);
}
