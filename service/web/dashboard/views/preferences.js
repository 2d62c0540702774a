/** What somebody may set for their own browser: the theme; and the way to have the key forgotten. */

import { chosenTheme, showTheme, THEMES } from "../theme.js";
import { html, useState } from "../vendor/htm-preact.js";
import { forgetDrafts } from "./session/draft.js";

/**
 * The choices.
 * @param {{api: any}} props
 */
export function Preferences({ api }) {
  return html`<${ThemeChoice} />${api.hasKey() && html`<${ForgetKey} api=${api} />`}`;
}

function ThemeChoice() {
  const [theme, setTheme] = useState(chosenTheme);
  const choose = (event) => {
    setTheme(event.target.value);
    showTheme(event.target.value);
  };
  return html`<label>
    Theme
    <select value=${theme} onChange=${choose}>
      ${THEMES.map((name) => html`<option value=${name}>${name}</option>`)}
    </select>
  </label>`;
}

function ForgetKey({ api }) {
  const forget = () => {
    api.setKey(null);
    forgetDrafts();
    // What was shown with the key must not stay in the page for whoever comes next.
    location.hash = "";
    location.reload();
  };
  return html`<button type="button" class="quiet small" onClick=${forget}>Forget the key</button>`;
}
