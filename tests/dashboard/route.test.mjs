import assert from "node:assert/strict";
import { test } from "node:test";
import { hrefTo, routeOf } from "../../service/web/dashboard/route.js";

const SESSIONS = { view: "sessions", id: null, part: null };

test("an address leads back to the place that it was made of", () => {
  const places = [
    ["sessions", null, null],
    ["sessions", "ses_01", null],
    ["sessions", "ses_01", "log"],
    ["approvals", null, null],
    ["readings", "rdg_01", null],
    ["server", null, null],
    // No id of the service is like these; none of them may lead elsewhere.
    ["sessions", "a/b?c#d%2Fe", "ü & 🚀"],
    ["readings", "..", "%"],
  ];
  for (const [view, id, part] of places) assert.deepEqual(routeOf(hrefTo(view, id, part)), { view, id, part });
});

test("addresses are short and begin with the view", () => {
  assert.equal(hrefTo("sessions"), "#/sessions");
  assert.equal(hrefTo("sessions", "ses_01", "log"), "#/sessions/ses_01/log");
});

test("what names nothing that there is leads to the sessions", () => {
  const nonsense = ["", "#", "#/", "#//", "#/nowhere/ses_01", "#/__proto__", "#/Sessions", "#/%", "#%E0%A4%A"];
  for (const hash of nonsense) assert.deepEqual(routeOf(hash), SESSIONS, hash);
});

test("a path as the service gives it leads there as well", () => {
  assert.deepEqual(routeOf("#sessions/ses_01"), { view: "sessions", id: "ses_01", part: null });
});

test("an id that can't be decoded is taken as it stands", () => {
  assert.deepEqual(routeOf("#/sessions/%E0%A4%A/log"), { view: "sessions", id: "%E0%A4%A", part: "log" });
});

test("empty parts are no parts", () => {
  assert.deepEqual(routeOf("#/sessions//"), SESSIONS);
  assert.deepEqual(routeOf("#/sessions/ses_01/"), { view: "sessions", id: "ses_01", part: null });
});
