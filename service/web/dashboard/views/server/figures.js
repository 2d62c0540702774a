/** Speed and cache over time, out of what the last completions cost. */

import { useLive } from "../../live.js";
import { Plot } from "../../parts/plot.js";
import { meanTokensPerSecond } from "../../state/server.js";
import { formatNumber } from "../../state/text.js";
import { html, useMemo } from "../../vendor/htm-preact.js";

const SPEED = {
  title: "Tokens per second",
  unit: "tokens/s",
  pick: (point) => point.tokensPerSecond,
  write: (value) => value.toFixed(1),
};
const CACHE = {
  title: "Cached share of prompts",
  unit: "%",
  pick: (point) => (point.cachedShare === null ? null : point.cachedShare * 100),
  write: (value) => value.toFixed(0),
  most: 100,
};

/**
 * The plots and the sums.
 * @param {{live: any}} props
 */
export function Figures({ live }) {
  const figures = useLive(live, (state) => state.figures);
  const { points, totals } = figures;
  if (points.length === 0) {
    return html`<section class="figures stack" aria-label="Speed and cache">
      <h2>Speed and cache</h2>
      <p class="card empty">
        Nothing has been asked of the model in the last records. Figures appear with the first answer.
      </p>
    </section>`;
  }
  return html`<section class="figures stack" aria-label="Speed and cache">
    <div class="row spread">
      <h2>Speed and cache</h2>
      <span class="quiet-text"
        >the last ${formatNumber(points.length)} ${points.length === 1 ? "completion" : "completions"}</span
      >
    </div>
    <${Totals} totals=${totals} mean=${meanTokensPerSecond(figures)} />
    <div class="plots">
      ${[SPEED, CACHE].map((kind) => html`<${Series} key=${kind.title} kind=${kind} points=${points} />`)}
    </div>
  </section>`;
}

function Totals({ totals, mean }) {
  const share = totals.promptTokens > 0 ? `${Math.round((100 * totals.cachedTokens) / totals.promptTokens)} %` : "–";
  const told = [
    ["Speed, last 20", mean === null ? "not measured" : `${mean.toFixed(1)} tokens/s`],
    ["Prompt from the cache", share],
    ["Prompt tokens", formatNumber(totals.promptTokens)],
    ["Tokens written", formatNumber(totals.completionTokens)],
    ["Tool calls", formatNumber(totals.toolCalls)],
    [
      "Turns ended",
      `${formatNumber(totals.turns)}${totals.failed > 0 ? `, ${formatNumber(totals.failed)} failed` : ""}`,
    ],
  ];
  return html`<dl class="totals">
    ${told.map(
      ([name, value]) =>
        html`<div>
          <dt>${name}</dt>
          <dd>${value}</dd>
        </div>`,
    )}
  </dl>`;
}

function Series({ kind, points }) {
  const { pick } = kind;
  const series = useMemo(
    () => points.filter((point) => pick(point) !== null).map((point) => ({ time: point.time, value: pick(point) })),
    [points, pick],
  );
  if (series.length === 0)
    return html`<figure class="plot card">
      <figcaption>${kind.title}</figcaption>
      <p class="empty">The server did not measure it.</p>
    </figure>`;
  return html`<${Plot}
    title=${kind.title}
    unit=${kind.unit}
    write=${kind.write}
    most=${kind.most ?? null}
    series=${series}
  />`;
}
