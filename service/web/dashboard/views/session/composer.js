/** Where a message is written and sent; what is refused stays as it was typed. */

import { turnPath } from "../../net/paths.js";
import { useBusy } from "../../parts/busy.js";
import { Icon } from "../../parts/icons.js";
import { Note } from "../../parts/note.js";
import { orToast, told } from "../../parts/toast.js";
import { keyFor } from "../../state/request_key.js";
import { html, memo, useEffect, useRef, useState } from "../../vendor/htm-preact.js";
import { keepDraft, keptDraft } from "./draft.js";
import { asked, NO_OPTIONS, TurnOptions } from "./options.js";
import { startTurn } from "./requests.js";

/** The service may have got it all the same: the next try says that it is the same. */
const IN_DOUBT = (problem) => problem.status === 0 || problem.status >= 500;

/**
 * The place to write.
 * @param {{api: any, id: string, running: string|null, baseline: any, isNew: boolean, onSent: ((content: string) =>
 *   void)|null}} props
 *   `running`: the turn that goes on
 */
export const Composer = memo(function Composer({ api, id, running, baseline, isNew, onSent }) {
  const [text, setText] = useState(() => keptDraft(id).text);
  const [options, setOptions] = useState(NO_OPTIONS);
  const [onBusy, setOnBusy] = useState("queue");
  const [refusal, setRefusal] = useState(null);
  const [sending, run] = useBusy();
  const place = useRef(null);
  const written = useRef(text);
  written.current = text;
  useGrowing(place, text);
  useEffect(() => {
    if (isNew) place.current.focus();
  }, [isNew]);

  const write = (words) => {
    setText(words);
    keepDraft(id, { text: words, tried: keptDraft(id).tried });
  };
  const send = () =>
    run(async () => {
      const body = { content: text, ...asked(options), ...(running !== null && { on_busy: onBusy }) };
      const tried = { body: JSON.stringify(body), key: keyFor(keptDraft(id).tried, JSON.stringify(body)) };
      keepDraft(id, { text, tried });
      try {
        await startTurn(api, id, body, tried.key);
      } catch (problem) {
        if (!IN_DOUBT(problem)) keepDraft(id, { text, tried: null });
        setRefusal(inWords(problem));
        return;
      }
      setRefusal(null);
      // What was typed meanwhile is the next message.
      const next = written.current === text ? "" : written.current;
      keepDraft(id, { text: next, tried: null });
      setText(next);
      setOnBusy("queue");
      // A button that is disabled while it was used loses the focus to nobody.
      if (document.activeElement === document.body) place.current?.focus();
      onSent?.(body.content);
    });
  const canSend = text.trim() !== "" && !sending;
  const onKey = (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    if (canSend) void send();
  };
  const submit = (event) => {
    event.preventDefault();
    if (canSend) void send();
  };

  return html`<form class="composer" onSubmit=${submit}>
    ${refusal && html`<${Note} mood="bad" alert>${refusal}<//>`}
    <label class="visually-hidden" for="message">Message</label>
    <textarea
      id="message"
      ref=${place}
      rows="1"
      value=${text}
      placeholder="Write a message"
      aria-describedby="message-keys"
      onInput=${(event) => write(event.target.value)}
      onKeyDown=${onKey}
    ></textarea>
    <div class="row">
      <span id="message-keys" class="quiet-text keys">Enter sends, Shift+Enter: new line</span>
      <${TurnOptions} options=${options} baseline=${baseline} onChange=${setOptions} />
      <span class="grow"></span>
      ${running !== null && html`<${WhileBusy} onBusy=${onBusy} onChoice=${setOnBusy} />`}
      ${running !== null && html`<${Stop} api=${api} id=${id} turn=${running} />`}
      <button type="submit" class="primary" disabled=${!canSend}>Send</button>
    </div>
  </form>`;
});

/** Say why it was refused, and what to do. */
function inWords(problem) {
  if (problem.status === 0)
    return "The service can't be reached. What you wrote is kept: send it again, it will not run twice.";
  if (problem.code === "session_full") return `${told(problem)} A shorter message may still fit.`;
  if (problem.code === "queue_full") return `${told(problem)} Wait until a turn has ended.`;
  return told(problem);
}

function WhileBusy({ onBusy, onChoice }) {
  return html`<label class="while-busy">
    <span class="visually-hidden">While a turn runs</span>
    <select value=${onBusy} onChange=${(event) => onChoice(event.target.value)}>
      <option value="queue">Send after this turn</option>
      <option value="interrupt">Stop it and send now</option>
    </select>
  </label>`;
}

function Stop({ api, id, turn }) {
  const [busy, run] = useBusy();
  const stop = () => run(() => orToast(api.post(`${turnPath(id, turn)}/cancel`)));
  return html`<button type="button" class="danger" disabled=${busy} aria-label="Stop the turn" onClick=${stop}>
    <${Icon} name="stop" /><span class="word">Stop</span>
  </button>`;
}

/** As high as its text, up to a third of the page. */
function useGrowing(place, text) {
  useEffect(() => {
    const area = place.current;
    area.style.height = "auto";
    area.style.height = `${area.scrollHeight + 2}px`;
  }, [text]);
}
