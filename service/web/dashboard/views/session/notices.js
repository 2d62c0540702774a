/** What happened beside the conversation, as lines within it. */

import { Markdown } from "../../parts/markdown.js";
import { Note } from "../../parts/note.js";
import { formatNumber } from "../../state/text.js";
import { html, memo } from "../../vendor/htm-preact.js";
import { cacheLossText, troubleName } from "./words.js";

/**
 * A line of what happened.
 * @param {{notice: any, summary?: any}} props `summary`: the text of one, where the notice is about it
 */
export const Notice = memo(function Notice({ notice, summary = null }) {
  if (notice.kind === "summary") return html`<${SummaryNote} summary=${summary ?? notice} />`;
  const [mood, text] = LINES[notice.kind]?.(notice) ?? ["", notice.kind];
  return html`<${Note} mood=${mood}>${text}<//>`;
});

const LINES = {
  attempt: ({ attempt, reason }) => [
    "warn",
    `Attempt ${attempt} of this step did not work: ${troubleName(reason)}. It was tried again.`,
  ],
  cache_loss: (loss) => [loss.reason === "compacted" ? "" : "warn", cacheLossText(loss)],
  thinking_capped: ({ reasoningTokens }) => [
    "warn",
    `The model was stopped thinking after ${formatNumber(reasoningTokens)} tokens, the cap of a turn ` +
      "(thinking_tokens), and went on to its answer.",
  ],
  resumed: ({ attempt }) => [
    "info",
    attempt > 1
      ? `The service was started anew (${attempt} times in this turn) and went on where it had stopped.`
      : "The service was started anew and went on where it had stopped.",
  ],
};

/**
 * What was summarised.
 * @param {{summary: any}} props
 */
export function SummaryNote({ summary }) {
  const { covers, tokensBefore, tokensAfter, text, shortened = [] } = summary;
  const cut = shortened.length > 0 ? ` Results of ${shortened.length} calls were shortened.` : "";
  return html`<${Note} mood="info">
    Everything up to record ${covers} was summarised to make room: the model is now sent ${formatNumber(tokensAfter)}
    ${" "}tokens in place of ${formatNumber(tokensBefore)}. The log keeps all of it.${cut}
    ${text && html`<details><summary>The summary</summary><${Markdown} text=${text} /></details>`}
  <//>`;
}
