/** The one place that wires: what is live, what is shown, and what the keys do. */

import { createApi } from "./net/api.js";
import { createLive } from "./live.js";
import { chosenTheme, showTheme } from "./theme.js";
import { html, render } from "./vendor/htm-preact.js";
import { Shell } from "./views/shell.js";

showTheme(chosenTheme());
const api = createApi();
const live = createLive(api);
render(html`<${Shell} api=${api} live=${live} />`, document.getElementById("app"));
live.start();
