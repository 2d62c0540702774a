/** A line over time: drawn by uPlot in the page's own colours, told in words and, on demand, as a table. */

import { html, useEffect, useRef, useState } from "../vendor/htm-preact.js";
import uPlot from "../vendor/uplot.js";
import { Time, formatTime } from "./time.js";

const HEIGHT = 170;
const ROWS = 100;
const MS = 1000;
const HOUR_S = 3600;
const DAY_S = 24 * HOUR_S;
const AXIS_DAYS = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" });
const AXIS_MINUTES = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
const AXIS_SECONDS = new Intl.DateTimeFormat(undefined, {
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  hourCycle: "h23",
});

/**
 * A plot of measured values.
 * @param {{title: string, unit: string, series: {time: string, value: number}[], write: (value: number) => string,
 *   most?: number|null}} props oldest first, at least one; `most`: the end of the scale where there is one
 */
export function Plot({ title, unit, series, write, most = null }) {
  const [pointed, setPointed] = useState(null);
  const last = series.at(-1);
  const shown = pointed === null ? last : (series[pointed] ?? last);
  return html`<figure class="plot card">
    <figcaption class="row spread">
      <span>${title}</span>
      <span class="quiet-text"
        ><b>${write(shown.value)}</b> ${unit}, ${pointed === null ? "last" : "at"} <${Time} at=${shown.time}
      /></span>
    </figcaption>
    <div role="img" aria-label=${inWords(title, unit, series, write)}>
      <${Canvas} series=${series} most=${most} write=${write} onPoint=${setPointed} />
    </div>
    <details>
      <summary>As a table</summary>
      <div class="table" tabindex="0" role="group" aria-label=${`${title} as a table`}>
        <table>
          <thead>
            <tr>
              <th scope="col">Time</th>
              <th scope="col">${title} (${unit})</th>
            </tr>
          </thead>
          <tbody>
            ${series
              .slice(-ROWS)
              .reverse()
              .map(
                ({ time, value }) =>
                  html`<tr>
                    <td><${Time} at=${time} /></td>
                    <td>${write(value)}</td>
                  </tr>`,
              )}
          </tbody>
        </table>
        ${series.length > ROWS && html`<p class="quiet-text">The newest ${ROWS} of ${series.length}.</p>`}
      </div>
    </details>
  </figure>`;
}

function inWords(title, unit, series, write) {
  const values = series.map(({ value }) => value);
  const times = `from ${formatTime(series[0].time)} to ${formatTime(series.at(-1).time)}`;
  if (series.length === 1) return `${title}: one value, ${write(values[0])} ${unit}.`;
  const [least, greatest] = [Math.min(...values), Math.max(...values)].map(write);
  const last = write(values.at(-1));
  return `${title}: ${series.length} values ${times}, between ${least} and ${greatest} ${unit}, the last one ${last}.`;
}

function Canvas({ series, most, write, onPoint }) {
  const place = useRef(null);
  const plot = useRef(null);
  const latest = useRef(series);
  latest.current = series;
  useEffect(() => {
    const parent = place.current;
    const drawn = new uPlot(options({ parent, most, write, onPoint }), dataOf(latest.current), parent);
    plot.current = drawn;
    const sizes = new ResizeObserver(() => drawn.setSize({ width: parent.clientWidth, height: HEIGHT }));
    sizes.observe(parent);
    const unwatch = onThemeChange(() => drawn.redraw(false, true));
    return () => {
      sizes.disconnect();
      unwatch();
      drawn.destroy();
    };
  }, []);
  useEffect(() => {
    plot.current.setData(dataOf(series));
  }, [series]);
  return html`<div class="canvas" ref=${place}></div>`;
}

function dataOf(series) {
  return [series.map(({ time }) => Date.parse(time) / MS), series.map(({ value }) => value)];
}

function options({ parent, most, write, onPoint }) {
  const colour = (name) => () => colourOf(parent, name);
  const axis = {
    stroke: colour("--text-quiet"),
    grid: { stroke: colour("--line"), width: 1 },
    ticks: { stroke: colour("--line"), width: 1 },
    font: "12px system-ui, sans-serif",
  };
  return {
    width: Math.max(parent.clientWidth, 1),
    height: HEIGHT,
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false } },
    padding: [8, 28, 0, 0],
    scales: {
      x: { time: true, range: timeRange },
      y: { range: (_, least, greatest) => [0, most ?? Math.max(1, greatest * 1.1)] },
    },
    axes: [
      { ...axis, space: 76, size: 32, values: timesAt },
      { ...axis, size: 44, space: 32, values: (_, ticks) => ticks.map((tick) => write(tick).replace(/\.0$/, "")) },
    ],
    series: [
      {},
      {
        stroke: colour("--accent"),
        width: 1.5,
        points: { show: true, size: 5, fill: colour("--accent"), stroke: colour("--accent") },
      },
    ],
    hooks: { setCursor: [(drawn) => onPoint(drawn.cursor.idx ?? null)] },
  };
}

/** Short, since many stand side by side: the day only where there are several. */
function timesAt(_, ticks) {
  const span = ticks.at(-1) - ticks[0];
  const format = span > DAY_S ? AXIS_DAYS : span > HOUR_S ? AXIS_MINUTES : AXIS_SECONDS;
  return ticks.map((tick) => format.format(new Date(tick * MS)));
}

/** A minute at least, so that one value stands in the middle of something. */
function timeRange(_, from, to) {
  const half = Math.max(0, 60 - (to - from)) / 2;
  return [from - half, to + half];
}

/** A canvas takes no `light-dark()`: the browser resolves it for an element. */
function colourOf(parent, name) {
  const probe = parent.appendChild(document.createElement("span"));
  probe.style.color = `var(${name})`;
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}

function onThemeChange(change) {
  const observer = new MutationObserver(change);
  observer.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
  const dark = matchMedia("(prefers-color-scheme: dark)");
  dark.addEventListener("change", change);
  return () => {
    observer.disconnect();
    dark.removeEventListener("change", change);
  };
}
