/** The frame of all views: where one can go, how things stand, and the login where a key is asked for. */

import { useLive } from "../live.js";
import { Icon } from "../parts/icons.js";
import { Toasts, told } from "../parts/toast.js";
import { hrefTo, useRoute } from "../route.js";
import { count } from "../state/approvals.js";
import { html, memo, useEffect, useLayoutEffect, useRef, useState } from "../vendor/htm-preact.js";
import { ApprovalsView } from "./approvals.js";
import { Login } from "./login.js";
import { Preferences } from "./preferences.js";
import { ReadingsView } from "./readings.js";
import { ServerView } from "./server.js";
import { SessionsView } from "./sessions.js";

const VIEWS = {
  sessions: ["Sessions", SessionsView],
  approvals: ["Approvals", ApprovalsView],
  readings: ["Readings", ReadingsView],
  server: ["Server", ServerView],
};

/** What a connection that isn't live is called. */
const CONNECTION = {
  connecting: "Connecting …",
  reconnecting: "Reconnecting … what is shown may be a little old; nothing is lost.",
  ended: "The service has ended the stream. Reload the page to go on.",
  gone: "The service has ended the stream. Reload the page to go on.",
  forbidden: "The service does not let this page see what happens.",
};

/**
 * The whole page.
 * @param {{api: any, live: any}} props
 */
export function Shell({ api, live }) {
  const route = useRoute();
  const [isLocked, setIsLocked] = useState(false);
  const wasLive = useWasLive(live);
  const main = useRef(null);
  // Before the first request: a refusal that nobody hears would leave a page without a login.
  useLayoutEffect(() => api.onUnauthorized(() => setIsLocked(true)), [api]);
  useFocusedView(main, route);
  const login = isLocked && html`<${Login} api=${api} onDone=${() => setIsLocked(false)} />`;
  // What is being typed in mid-session stays; before that there is nothing to show.
  if (isLocked && !wasLive) return login;
  const [, View] = VIEWS[route.view];
  return html`<div class="shell">
    <aside class="rail">
      <a class="brand" href=${hrefTo("sessions")}><img src="dashboard/icon.svg" alt="" />Turnkeeper</a>
      <${Navigation} live=${live} view=${route.view} />
      <div class="foot"><${Preferences} api=${api} /></div>
    </aside>
    <${Connection} live=${live} />
    <main class="view" id="main" tabindex="-1" ref=${main}>
      <${View} api=${api} live=${live} route=${route} />
    </main>
    <${Toasts} />
    ${login}
  </div>`;
}

/** Whether the page has ever been let in. */
function useWasLive(live) {
  const isLive = useLive(live, (state) => state.connection === "live");
  const was = useRef(false);
  was.current ||= isLive;
  return was.current;
}

/** Whoever follows a link goes on at what it leads to, unless a field there has taken the focus. */
function useFocusedView(main, { view, id, part }) {
  const isFirst = useRef(true);
  useEffect(() => {
    if (isFirst.current) {
      isFirst.current = false;
      return;
    }
    const now = document.activeElement;
    if (now?.matches("input, textarea, select, dialog *") && main.current?.contains(now)) return;
    const headings = [...(main.current?.querySelectorAll("h1") ?? [])];
    const heading = headings.find((one) => one.getClientRects().length > 0);
    if (heading && !heading.hasAttribute("tabindex")) heading.tabIndex = -1;
    (heading ?? main.current)?.focus({ preventScroll: true });
  }, [view, id, part]);
}

const Navigation = memo(function Navigation({ live, view: chosen }) {
  const waiting = useLive(live, (state) => count(state.inbox));
  useEffect(() => {
    const [name] = VIEWS[chosen];
    document.title = `${waiting > 0 ? `(${waiting}) ` : ""}${name} · Turnkeeper`;
  }, [waiting, chosen]);
  return html`<nav aria-label="Views">
    ${Object.entries(VIEWS).map(
      ([view, [name]]) => html`<a href=${hrefTo(view)} aria-current=${view === chosen ? "page" : undefined}>
        <${Icon} name=${view} />${name}
        ${
          view === "approvals" &&
          waiting > 0 &&
          html`<span class="count">${waiting}<span class="visually-hidden"> waiting</span></span>`
        }
      </a>`,
    )}
  </nav>`;
});

/** Always there, so that what comes into it is read out. */
function Connection({ live }) {
  const connection = useLive(live, (state) => state.connection);
  const problem = useLive(live, (state) => state.problem);
  const why = connection === "forbidden" && problem ? told(problem) : "";
  return html`<div class="connection" role="status">${[CONNECTION[connection], why].filter(Boolean).join(" ")}</div>`;
}
