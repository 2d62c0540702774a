/** llama-server's slots, who of ours runs in them, and who waits. */

import { Badge } from "../../parts/badge.js";
import { Bar } from "../../parts/bar.js";
import { usePolled } from "../../parts/fetched.js";
import { Note } from "../../parts/note.js";
import { SessionLink } from "../../parts/session_link.js";
import { told } from "../../parts/toast.js";
import { hrefTo } from "../../route.js";
import { formatNumber } from "../../state/text.js";
import { html } from "../../vendor/htm-preact.js";
import { Template } from "./template.js";

const EVERY_MS = 2_000;

/**
 * The slots.
 * @param {{api: any, live: any}} props
 */
export function Slots({ api, live }) {
  const { value: now, problem } = usePolled((signal) => api.get("slots", { signal }), EVERY_MS);
  return html`<section class="slots stack" aria-label="Slots and queue">
    <div class="row spread">
      <h2>Slots</h2>
      ${now && html`<span class="quiet-text">${permitsOf(now)}</span>`}
    </div>
    ${
      problem &&
      html`<${Note} mood="bad">
        ${`The slots could not be fetched: ${told(problem)}`}${now && " What is below is older."}
      <//>`
    }
    ${now === null && !problem && html`<p class="quiet-text" role="status">Asking …</p>`}
    ${now && html`<${Now} api=${api} live=${live} now=${now} />`}
  </section>`;
}

function permitsOf({ running, permits, queued }) {
  return `${running.length} running, ${permits} at most at the same time; ${queued.length} waiting`;
}

function Now({ api, live, now }) {
  return html`
    ${
      now.items.length === 0 &&
      html`<${Note} mood=${now.message ? "warn" : ""}>${now.message ?? "llama-server tells of no slots."}<//>`
    }
    ${
      now.items.length > 0 &&
      html`<ul class="cards">
        ${now.items.map((slot) => html`<${Slot} key=${slot.id} slot=${slot} />`)}
      </ul>`
    }
    <div class="holders">
      <${Holders} api=${api} live=${live} title="Running now" holders=${now.running} none="Nothing of ours runs." />
      <${Holders}
        api=${api}
        live=${live}
        title="Waiting for a slot"
        holders=${now.queued}
        none="Nobody waits."
        ordered
      />
    </div>
    ${
      now.items.length > 1 &&
      now.running.length > 0 &&
      html`<p class="quiet-text">llama-server does not tell which of these is in which slot.</p>`
    }
    <${Template} template=${now.template} words=${now.words} />
  `;
}

function Slot({ slot }) {
  const used = usedOf(slot);
  return html`<li class="card">
    <div class="inside">
      <div class="row spread">
        <h3>Slot ${slot.id}</h3>
        ${slot.processing ? html`<${Badge} mood="info" live>${doing(slot)}<//>` : html`<${Badge}>idle<//>`}
      </div>
      ${
        slot.context_tokens === null
          ? html`<p class="quiet-text">The size of its context is not told.</p>`
          : html`<${Bar}
              label="Context"
              value=${used ?? 0}
              of=${slot.context_tokens}
              text=${`${used === null ? "–" : formatNumber(used)} / ${formatNumber(slot.context_tokens)}`}
            />`
      }
      ${
        used === null
          ? html`<p class="quiet-text">Not used yet, or llama-server does not tell.</p>`
          : html`<${Tokens} slot=${slot} />`
      }
    </div>
  </li>`;
}

function Tokens({ slot: { prompt_tokens: prompt, prompt_cached: cached, decoded } }) {
  return html`<dl class="facts">
    <dt>Prompt</dt>
    <dd>
      ${`${formatNumber(prompt)} tokens `}
      ${cached !== null && html`<span class="quiet-text">(${formatNumber(cached)} from the cache)</span>`}
    </dd>
    <dt>Written</dt>
    <dd>${decoded === null ? "not told" : `${formatNumber(decoded)} tokens`}</dd>
  </dl>`;
}

function usedOf({ prompt_tokens: prompt, decoded }) {
  return prompt === null ? null : prompt + (decoded ?? 0);
}

function doing({ prompt_tokens: prompt, prompt_processed: processed, decoded }) {
  if (decoded) return "writing";
  return prompt !== null && processed !== null && processed < prompt
    ? `reading ${formatNumber(processed)} / ${formatNumber(prompt)}`
    : "working";
}

function Holders({ api, live, title, holders, none, ordered = false }) {
  return html`<div>
    <h3>${title}</h3>
    ${
      holders.length === 0
        ? html`<p class="quiet-text">${none}</p>`
        : html`<ol class=${ordered ? "ordered" : ""}>
            ${holders.map(
              (holder) => html`<li key=${keyOf(holder)}><${Holder} api=${api} live=${live} holder=${holder} /></li>`,
            )}
          </ol>`
    }
  </div>`;
}

function keyOf({ session, turn, reading, chunk }) {
  return [session, turn, reading, chunk].join("/");
}

function Holder({ api, live, holder: { session, turn, step, reading, chunk } }) {
  if (reading !== null) {
    return html`<a href=${hrefTo("readings", reading)}>Reading</a>${" "}
      <span class="quiet-text">${chunk === null ? "its answer" : `chunk ${formatNumber(chunk + 1)}`}</span>`;
  }
  if (session === null) return "somebody else's work";
  const what = turn === null ? "a summary" : step === null ? "a turn" : `step ${step}`;
  return html`<${SessionLink} api=${api} live=${live} id=${session} /> <span class="quiet-text">${what}</span>`;
}
