/** The documents of a reading that is about to begin: files and texts, each with what is wrong with it. */

import { Icon } from "../../parts/icons.js";
import { VisibleText } from "../../parts/visible_text.js";
import { formatBytes, formatNumber } from "../../state/text.js";
import { html, memo, useEffect, useRef, useState } from "../../vendor/htm-preact.js";
import { addFiles, addText, changeDocument, removeDocument } from "./draft.js";

/** What the service reads; others may be texts all the same, so nothing is kept out by it. */
const KINDS = ".txt,.md,.markdown,.html,.htm,.pdf,.csv,.log,.json,text/*,application/pdf";

/**
 * Choose documents.
 * @param {{documents: import("./draft.js").Chosen[], fault: string|undefined, busy: boolean}} props
 */
export function Documents({ documents, fault, busy }) {
  const input = useRef(null);
  const add = useRef(null);
  const [fresh, setFresh] = useState(null);
  const choose = (event) => {
    addFiles(event.target.files);
    // So that the same file can be chosen again after it was removed.
    event.target.value = "";
  };
  const remove = (key) => {
    removeDocument(key);
    // The button that was pressed is gone: the keyboard goes on at the next thing to do.
    add.current.focus();
  };
  return html`<fieldset class="documents" disabled=${busy}>
    <legend>Documents</legend>
    <div class="drop">
      <p><strong>Drop files anywhere on this page</strong>, or</p>
      <div class="row">
        <button type="button" ref=${add} onClick=${() => input.current.click()}>Choose files</button>
        <button type="button" onClick=${() => setFresh(addText())}><${Icon} name="plus" />Paste a text</button>
      </div>
      <p class="quiet-text">Text, Markdown, HTML and PDF with text in it. Each is read whole, however long it is.</p>
      <input ref=${input} type="file" multiple accept=${KINDS} onChange=${choose} hidden aria-label="Files to read" />
    </div>
    ${fault && html`<p class="fault" role="alert">Documents ${fault}</p>`}
    ${
      documents.length > 0 &&
      html`<ol class="chosen">
      ${documents.map(
        (document, index) =>
          html`<${ChosenDocument}
            key=${document.key}
            document=${document}
            number=${index + 1}
            isFresh=${document.key === fresh}
            onRemove=${remove}
          />`,
      )}
    </ol>`
    }
  </fieldset>`;
}

const ChosenDocument = memo(
  function ChosenDocument({ document, number, isFresh, onRemove }) {
    const { key, file, problem } = document;
    const fault = problem && html`<p class="fault" id="document-${key}-fault"><${VisibleText} text=${problem} /></p>`;
    return html`<li class=${problem ? "wrong" : ""}>
      <div class="row">
        <span class="grow">${file ? html`<${FileName} document=${document} />` : html`<${TextName}
          document=${document}
          number=${number}
        />`}</span>
        <button
          type="button"
          class="quiet small"
          aria-label="Remove document ${number}"
          onClick=${() => onRemove(key)}
        >Remove</button>
      </div>
      ${file === null && html`<${TextField} document=${document} isFresh=${isFresh} />`} ${fault}
    </li>`;
  },
  (before, after) => before.document === after.document && before.number === after.number,
);

function FileName({ document }) {
  return html`<${VisibleText}
    text=${document.name}
    limit=${300}
  /> <span class="quiet-text">${formatBytes(document.file.size)}</span>`;
}

function TextName({ document, number }) {
  return html`<label class="visually-hidden" for="document-${document.key}-name">Name of document ${number}</label>
    <input
      id="document-${document.key}-name"
      value=${document.name}
      onInput=${(event) => changeDocument(document.key, { name: event.target.value })}
    />`;
}

function TextField({ document, isFresh }) {
  const { key, text, problem } = document;
  const place = useRef(null);
  useEffect(() => {
    if (isFresh) place.current.focus();
  }, []);
  return html`<label>
    <span class="visually-hidden">Text of ${document.name}</span>
    <textarea
      rows="6"
      placeholder="Paste the text here"
      value=${text}
      ref=${place}
      aria-invalid=${problem ? "true" : undefined}
      aria-describedby=${problem ? `document-${key}-fault` : undefined}
      onInput=${(event) => changeDocument(key, { text: event.target.value })}
    ></textarea>
    <span class="quiet-text">${formatNumber(text.length)} characters</span>
  </label>`;
}
