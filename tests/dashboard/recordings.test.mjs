import assert from "node:assert/strict";
import { test } from "node:test";
import * as approvals from "../../service/web/dashboard/state/approvals.js";
import * as reading from "../../service/web/dashboard/state/reading.js";
import * as server from "../../service/web/dashboard/state/server.js";
import * as session from "../../service/web/dashboard/state/session.js";
import * as sessions from "../../service/web/dashboard/state/sessions.js";
import { OF_A_READING, OF_A_SESSION, eventsOf, frozen, idOf, textOf } from "./recorded.mjs";

const SESSION = { empty: session.emptySession, reduce: session.reduce, reduceAll: session.reduceAll };
const READING = { empty: reading.emptyReading, reduce: reading.reduce, reduceAll: reading.reduceAll };
const ALL = [
  ...OF_A_SESSION.map((name) => /** @type {const} */ ([name, SESSION])),
  ...OF_A_READING.map((name) => /** @type {const} */ ([name, READING])),
];

/** What each recording must hold, so that it shows what it is for. */
const HOLDS = {
  plain: ["user", "progress", "content", "assistant", "usage", "turn_finished"],
  cut: ["partial"],
  cancel: ["turn_queued", "queued", "turn_finished"],
  compaction: ["summary"],
  fork: ["session_created"],
  reasoning: ["reasoning", "content"],
  tool_call: ["tool_call_started", "tool_result", "content"],
  broken_off: ["tool_result", "attempt", "turn_finished"],
  limit: ["tool_result", "turn_finished"],
  approved: ["approval_requested", "approval_decided", "tool_call_started", "tool_result"],
  denied: ["approval_requested", "approval_decided", "tool_result"],
  everything: ["session_created", "approval_requested", "approval_decided", "session_deleted"],
  handoff: ["handoff_started", "handoff_returned"],
  retrying: ["attempt", "retrying", "waiting"],
  restart: ["shutting_down", "resumed"],
  reading: ["reading_created", "reading_planned", "chunk_started", "content", "gate", "usage", "run_end"],
  reading_level_2: ["reading_created", "memory", "evidence", "run_end"],
};

/** Who follows along sees each view on its way; none of them may be changed later. */
function oneByOne({ empty, reduce }, events) {
  return events.reduce((view, event) => frozen(reduce(view, event)), frozen(empty(idOf(events))));
}

test("each recording holds what it is for", () => {
  for (const [name, types] of Object.entries(HOLDS)) {
    const found = new Set(eventsOf(name, "live").map((event) => event.type));
    assert.deepEqual(
      types.filter((type) => !found.has(type)),
      [],
      name,
    );
  }
});

test("there are calls at the same time, a limit, a cancelled turn and a failed one among them", () => {
  const outcomes = (name) =>
    eventsOf(name, "live").flatMap((event) => (event.type === "turn_finished" ? event.outcome : []));
  assert.deepEqual(outcomes("limit"), ["turn_limit"]);
  assert.deepEqual(outcomes("cancel"), ["cancelled", "cancelled", "answered"]);
  assert.deepEqual(outcomes("broken_off"), ["failed"]);
  assert.ok(eventsOf("tool_call", "live").some((event) => event.type === "assistant" && event.tool_calls.length > 1));
});

test("no recording names a path or an address of the machine that it was made on", () => {
  for (const name of Object.keys(HOLDS)) {
    for (const kind of ["live", "replay"]) {
      const [found] =
        /.{0,40}(127\.0\.0\.1|localhost|\/(home|tmp|work|root|Users|site-packages)\/).{0,40}/.exec(
          textOf(name, kind),
        ) ?? [];
      assert.equal(found, undefined, `${name}.${kind}`);
    }
  }
});

for (const [name, state] of ALL) {
  test(`${name}: seen live and replayed it is the same view`, () => {
    const live = eventsOf(name, "live");
    const replay = eventsOf(name, "replay");

    const seen = oneByOne(state, live);

    assert.ok(live.length > replay.length, "there are no signals in it");
    assert.deepEqual(state.reduceAll(state.empty(idOf(live)), live), seen);
    // The stream of the service that stopped has ended, so nobody is told that it is back.
    assert.deepEqual(oneByOne(state, replay), seen);
    assert.deepEqual(state.reduceAll(state.empty(idOf(live)), replay), seen);
  });

  test(`${name}: cut at any event and resumed at any later one it is the same view`, () => {
    const live = eventsOf(name, "live");
    const whole = oneByOne(state, live);
    for (let cut = 0; cut <= live.length; cut += 1) {
      const before = state.reduceAll(state.empty(idOf(live)), live.slice(0, cut));
      for (const back of [cut, cut + 1, cut + 7, live.length].filter((at) => at <= live.length)) {
        const missed = live.slice(cut, back).filter((event) => event.pos !== null);
        const rejoined = state.reduceAll(before, [...missed, ...partialsAt(live, back)]);
        assert.deepEqual(textsOf(rejoined), textsOf(state.reduceAll(state.empty(idOf(live)), live.slice(0, back))));
        assert.deepEqual(state.reduceAll(rejoined, live.slice(back)), whole, `cut at ${cut}, back at ${back}`);
      }
    }
  });

  test(`${name}: told twice it is the same view`, () => {
    const live = eventsOf(name, "live");
    const whole = oneByOne(state, live);
    assert.equal(state.reduceAll(whole, eventsOf(name, "replay")), whole);
  });
}

const ENDS_TEXT = new Set([
  ...["attempt", "retrying", "assistant", "turn_finished", "resumed"],
  ...["gate", "budget_exceeded", "parse_failed", "answer"],
]);

/** What the service would say of the texts in flight at an event, as it does to whoever joins. */
function partialsAt(events, end) {
  const texts = new Map();
  for (const event of events.slice(0, end)) {
    const place = event.reading === undefined ? event.turn : `${event.level}/${event.document}/${event.chunk}`;
    if (event.type === "partial") texts.set(place, event);
    else if (ENDS_TEXT.has(event.type)) texts.delete(place);
    else if (event.type === "content" || event.type === "reasoning") {
      const known = texts.get(place) ?? { ...event, type: "partial", reasoning: "", content: "" };
      const text = event.offset === 0 ? event.text : known[event.type] + event.text;
      texts.set(place, { ...known, step: event.step, [event.type]: text });
    }
  }
  return [...texts.values()];
}

/** All the text of a view. */
function textsOf(view) {
  if (view.passes !== undefined)
    return [view.drafting?.text ?? "", view.passes.map((pass) => pass.cells.map((cell) => cell.text))];
  const own = view.order.map((id) => view.turns[id].steps.map((step) => [step.reasoning, step.content]));
  return [
    own.map((steps) => steps.filter(([thought, said]) => thought || said)),
    Object.values(view.children).map(textsOf),
  ];
}

test("what is shown of a turn is what the service says of it", () => {
  for (const name of OF_A_SESSION) {
    const replay = eventsOf(name, "replay");
    const view = session.reduceAll(session.emptySession(idOf(replay)), replay);
    for (const end of replay.filter((event) => event.type === "turn_finished")) {
      const turn = session.sessionOf(view, end.session)?.turns[end.turn];
      assert.equal(turn.outcome, end.outcome);
      assert.equal(turn.steps.length, end.steps);
      // Each call in the log has exactly one result.
      assert.ok(turn.steps.every((step) => step.calls.every((call) => call.state === "closed")));
    }
  }
});

test("the sums of a session are those that its turns end with", () => {
  for (const name of OF_A_SESSION) {
    const replay = eventsOf(name, "replay").filter((event) => event.session === idOf(eventsOf(name, "replay")));
    const last = replay.findLastIndex((event) => event.type === "turn_finished");
    const before = session.reduceAll(session.emptySession(idOf(replay)), replay.slice(0, last));
    const after = session.reduce(before, replay[last]);
    assert.deepEqual(after.usage, before.usage, name);
    assert.deepEqual(after.turns[replay[last].turn].usage, before.turns[replay[last].turn].usage, name);
    assert.deepEqual([after.class, after.untrusted], [before.class, before.untrusted], name);
  }
});

test("the sums of a reading are those that it ends with", () => {
  for (const name of OF_A_READING) {
    const replay = eventsOf(name, "replay");
    const before = reading.reduceAll(reading.emptyReading(idOf(replay)), replay.slice(0, -1));
    const end = reading.reduce(before, replay.at(-1));
    for (const sum of ["seen", "used", "calls", "usage", "exitsRefused"]) assert.deepEqual(before[sum], end[sum], name);
    assert.equal(end.state, "finished");
    assert.ok(end.passes.every((pass) => pass.cells.length > 0 && pass.cells.every((cell) => cell.closed)));
    assert.equal(end.passes.at(-1).memory?.sha256 ?? null, end.finalMemory);
  }
});

test("a handoff leads to the child, whose turn stands below", () => {
  const live = eventsOf("handoff", "live");
  const started = live.find((event) => event.type === "handoff_started");
  const view = session.reduceAll(session.emptySession(idOf(live)), live);
  const { child } = session.callOf(view.turns[started.turn], started.call);
  const below = session.sessionOf(view, child.session);
  assert.deepEqual([child.turn, child.agent], [started.child.turn, started.agent]);
  assert.equal(below.turns[child.turn].outcome, child.outcome);
  assert.equal(below.parent.call, started.call);
});

test("the list, the inbox and the figures follow all sessions", () => {
  const live = eventsOf("everything", "live");
  const at = live.findIndex((event) => event.type === "approval_requested");
  const { session: asking } = live[at];
  const gone = live.find((event) => event.type === "session_deleted").session;
  const resource = (id) => ({
    id,
    title: id,
    metadata: {},
    agent: null,
    baseline: { model: null },
    state: "idle",
    running: null,
    queued: [],
    created_at: "2026-01-01T00:00:00Z",
    updated_at: "2026-01-01T00:00:00Z",
    parent: null,
    fork: null,
    last_seq: 1,
  });
  let list = sessions.emptyList();
  let inbox = approvals.emptyInbox();
  let states = [];
  live.forEach((event, place) => {
    list = frozen(sessions.reduce(list, event));
    for (const id of list.unknown) list = frozen(sessions.withSession(list, resource(id)));
    inbox = frozen(approvals.reduce(inbox, event));
    if (place === at) {
      assert.equal(list.rows[asking].state, "awaiting_approval");
      assert.equal(list.rows[asking].pendingCount, event.calls.length);
      assert.equal(approvals.count(inbox), event.calls.length);
    }
    if (event.session === asking) states.push(list.rows[asking].state);
  });

  states = states.filter((state, place) => state !== states[place - 1]);
  assert.deepEqual(states, ["idle", "running", "awaiting_approval", "running", "idle"]);
  assert.equal(approvals.count(inbox), 0);
  assert.equal(Object.hasOwn(list.rows, gone), false);
  assert.equal(list.order.length, 2);
  assert.equal(list.rows[asking].outcome, "answered");
  const figures = frozen(server.reduceAll(frozen(server.emptyFigures()), live));
  const usages = live.filter((event) => event.type === "usage");
  assert.equal(figures.points.length, usages.length);
  assert.equal(figures.totals.turns, 2);
  assert.ok(figures.points.every((point) => point.tokensPerSecond !== null && point.tokensPerSecond > 0));
});
