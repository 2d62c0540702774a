import assert from "node:assert/strict";
import { test } from "node:test";
import { Problem, createApi } from "../../service/web/dashboard/net/api.js";

class Store {
  kept = new Map();
  getItem = (name) => this.kept.get(name) ?? null;
  setItem = (name, value) => this.kept.set(name, value);
  removeItem = (name) => this.kept.delete(name);
}

/** An api before a service that answers in turn. */
function before(...answers) {
  const requests = [];
  const storage = new Store();
  const api = createApi({
    storage,
    fetch: async (path, init) => {
      requests.push({ path, ...init });
      const answer = answers.shift() ?? Response.json({});
      if (answer instanceof Error) throw answer;
      return answer;
    },
  });
  return { api, requests, storage };
}

const problem = (status, members, headers = {}) =>
  new Response(JSON.stringify({ type: "about:blank", title: "Conflict", status, ...members }), {
    status,
    headers: { "Content-Type": "application/problem+json", ...headers },
  });

/** The problem that a request ends with. */
async function refusal(asked) {
  const refused = await asked.then(
    () => assert.fail("it was not refused"),
    (error) => error,
  );
  assert.ok(refused instanceof Problem, String(refused));
  return refused;
}

test("answers are JSON; none is null", async () => {
  const { api } = before(
    Response.json({ items: [] }),
    new Response(null, { status: 204 }),
    new Response("", { status: 202 }),
  );
  assert.deepEqual(await api.get("sessions"), { items: [] });
  assert.equal(await api.delete("sessions/ses_1"), null);
  assert.equal(await api.post("sessions/ses_1/turns/trn_1/cancel"), null);
});

test("bodies go as JSON, with the headers that were asked for", async () => {
  const { api, requests } = before();
  await api.post(
    "sessions/ses_1/turns",
    { content: "é" },
    { idempotencyKey: "k1", headers: { Prefer: "respond-async" } },
  );
  await api.patch("sessions/ses_1", { title: "A" });
  await api.post("sessions/ses_1/compact");

  const [turn, title, compact] = requests;
  assert.deepEqual([turn.method, turn.path, turn.body], ["POST", "sessions/ses_1/turns", '{"content":"é"}']);
  assert.deepEqual(turn.headers, {
    Accept: "application/json",
    "Content-Type": "application/json",
    "Idempotency-Key": "k1",
    Prefer: "respond-async",
  });
  assert.deepEqual([title.method, title.body], ["PATCH", '{"title":"A"}']);
  assert.deepEqual([compact.body, compact.headers], [undefined, { Accept: "application/json" }]);
});

test("a form is left to the browser, which knows its boundary", async () => {
  const { api, requests } = before();
  const form = new FormData();
  form.append("query", "Who?");
  await api.upload("readings", form, { idempotencyKey: "k2" });
  assert.equal(requests[0].body, form);
  assert.deepEqual(requests[0].headers, { Accept: "application/json", "Idempotency-Key": "k2" });
});

test("what is no JSON comes as it is", async () => {
  const { api, requests } = before(new Response('{"seq":1}\n{"seq":2}\n'));
  assert.equal(
    await api.text("sessions/ses_1/records", { headers: { Accept: "application/x-ndjson" } }),
    '{"seq":1}\n{"seq":2}\n',
  );
  assert.equal(requests[0].headers.Accept, "application/x-ndjson");
});

test("a refusal tells its code, its sentence and what else stands in it", async () => {
  const { api } = before(
    problem(409, { code: "turn_in_progress", detail: "A turn runs.", turn: "trn_1" }, { "Retry-After": "3" }),
  );
  const refused = await refusal(api.post("sessions/ses_1/turns", {}));
  const { status, code, title, detail, turn, retryAfterS, message } = refused;
  assert.deepEqual([status, code, title, turn, retryAfterS], [409, "turn_in_progress", "Conflict", "trn_1", 3]);
  assert.deepEqual([detail, message], ["A turn runs.", "A turn runs."]);
});

test("the members of a refusal can't take the place of what a problem is", async () => {
  const { api } = before(problem(409, { code: "a", detail: "b", name: "x", message: "y", retryAfterS: 9 }));
  const refused = await refusal(api.get("sessions"));
  assert.deepEqual([refused.name, refused.status, refused.retryAfterS], ["Problem", 409, null]);
});

test("what something else has answered is a problem all the same", async () => {
  const pages = [new Response("<h1>Bad gateway</h1>", { status: 502, statusText: "Bad Gateway" }), problem(500, {})];
  const { api } = before(...pages, new Response("<html>", { status: 200 }));
  const gateway = await refusal(api.get("sessions"));
  assert.deepEqual([gateway.status, gateway.code, gateway.detail], [502, "http_502", "The answer was 502 Bad Gateway"]);
  assert.equal((await refusal(api.get("sessions"))).code, "http_500");
  assert.deepEqual((await refusal(api.get("sessions"))).code, "no_json");
});

test("a service that can't be reached is a problem with status 0", async () => {
  const { api } = before(new TypeError("Failed to fetch"));
  const refused = await refusal(api.get("sessions"));
  assert.deepEqual([refused.status, refused.code], [0, "unreachable"]);
  assert.match(refused.detail, /Failed to fetch/);
});

test("who leaves is told so, and of no problem", async () => {
  const { api } = before(new DOMException("left", "AbortError"));
  await assert.rejects(api.get("sessions", { signal: AbortSignal.abort() }), { name: "AbortError" });
});

test("the key goes into a header of each request, and never into an address or a body", async () => {
  const { api, requests, storage } = before();
  api.setKey("tk_secret");
  await api.get("sessions?limit=1");
  await api.post("sessions", { title: "A" });
  await api.upload("readings", new FormData());
  await api.stream("events", { headers: { "Last-Event-ID": "4" } });
  assert.equal(requests.length, 4);
  for (const { headers, ...rest } of requests) {
    assert.equal(headers.Authorization, "Bearer tk_secret");
    assert.ok(!JSON.stringify(rest).includes("tk_secret"));
  }
  assert.ok(api.hasKey());
  assert.ok(createApi({ storage, fetch: async () => Response.json({}) }).hasKey());

  api.setKey(null);
  await api.get("sessions");
  assert.equal(Object.hasOwn(requests.at(-1).headers, "Authorization"), false);
  assert.equal(api.hasKey(), false);
  assert.equal(storage.kept.size, 0);
});

test("nothing is sent anywhere but to this page's own service, and redirects are not followed", async () => {
  const { api, requests } = before();
  api.setKey("tk_secret");
  for (const path of ["/sessions", "//evil.example/x", "https://evil.example", "\\\\evil.example", "javascript:1"]) {
    await assert.rejects(async () => api.get(path), TypeError, path);
    await assert.rejects(async () => api.stream(path), TypeError, path);
  }
  await api.get("sessions");
  assert.deepEqual(
    requests.map(({ path, redirect, cache }) => [path, redirect, cache]),
    [["sessions", "error", "no-store"]],
  );
});

test("whoever listens hears that a key is wanted, by requests and by streams", async () => {
  const refused = () => problem(401, { code: "unauthorized", detail: "A key is needed." });
  const { api } = before(refused(), refused(), refused());
  let heard = 0;
  const stop = api.onUnauthorized(() => (heard += 1));
  assert.equal((await refusal(api.get("sessions"))).code, "unauthorized");
  assert.equal((await api.stream("events")).status, 401);
  stop();
  await refusal(api.get("sessions"));
  assert.equal(heard, 2);
});

test("a refusal of an older key says nothing of the one that was given meanwhile", async () => {
  let answer;
  const fetch = () => new Promise((resolve) => (answer = resolve));
  const api = createApi({ fetch, storage: { getItem: () => "tk_old", setItem() {}, removeItem() {} } });
  let heard = 0;
  let given = 0;
  api.onUnauthorized(() => (heard += 1));
  api.onKey(() => (given += 1));
  const asked = refusal(api.get("sessions"));
  api.setKey("tk_new");
  answer(problem(401, { code: "unauthorized", detail: "A key is needed." }));
  assert.deepEqual([(await asked).status, heard, given], [401, 0, 1]);
  api.setKey(null);
  assert.equal(given, 1);
});

test("no id leads to another place of the service", async () => {
  const { api, requests } = before();
  const astray = ["sessions/..", "sessions/../approvals", "sessions/%2e%2E/records", "sessions/./x", "readings/..?a"];
  for (const path of astray) {
    assert.equal((await refusal(api.get(path))).code, "not_found", path);
  }
  assert.deepEqual(requests, []);
});

test("a stream is asked for as one, and is given whatever its status", async () => {
  const { api, requests } = before(new Response(null, { status: 204 }));
  const left = new AbortController();
  const answer = await api.stream("sessions/ses_1/events", { headers: { "Last-Event-ID": "7" }, signal: left.signal });
  assert.equal(answer.status, 204);
  assert.deepEqual(requests[0].headers, { Accept: "text/event-stream", "Last-Event-ID": "7" });
  assert.equal(requests[0].signal, left.signal);
});
