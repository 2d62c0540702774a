import assert from "node:assert/strict";
import { test } from "node:test";
import { callOf, sessionOf } from "../../service/web/dashboard/state/session.js";
import { begun, only, view } from "./session_view.mjs";

test("calls go their way, and results come in any order", () => {
  const { log, start } = begun();
  const started = (call, fields = {}) =>
    log.record("tool_call_started", { call, tool_call_id: `id_${call}`, name: "look", arguments: "{}", ...fields });
  const events = [...start, log.calls(1, 1, 2, 3), started(1), started(2, { name: "other", arguments: '{"a":1}' })];
  const flying = view(...events);
  const cut = {
    status: "failed",
    content: "…",
    class: "secret",
    untrusted: true,
    fence: "f00d",
    truncated: true,
    original_bytes: 99,
  };
  const closed = view(...events, log.result(3), log.result(2, cut), log.result(1));

  const states = (seen) => only(seen).steps[0].calls.map((call) => call.state);
  assert.deepEqual(states(flying), ["in_flight", "in_flight", "asked"]);
  assert.deepEqual(
    [callOf(only(flying), 1).ran, callOf(only(flying), 2).ran],
    [null, { name: "other", arguments: '{"a":1}' }],
  );
  assert.deepEqual(states(closed), ["closed", "closed", "closed"]);
  assert.deepEqual(
    [1, 2, 3].map((call) => callOf(only(closed), call).seq),
    [8, 7, 6],
  );
  const { status, content, fence, truncated, originalBytes } = callOf(only(closed), 2);
  assert.deepEqual([status, content, fence, truncated, originalBytes], ["failed", "…", "f00d", true, 99]);
  assert.deepEqual(
    [closed.class, closed.untrusted, only(closed).iterations, only(closed).usage.toolCalls],
    ["secret", true, 1, 3],
  );
  assert.equal(callOf(only(closed), 4), null);
});

test("a turn waits until the last of its calls is decided", () => {
  const { log, start } = begun();
  const asked = [...start, log.calls(1, 1, 2), log.asked(1, 2)];
  const first = log.decided(1, false, { reason: "No." });
  const second = log.decided(2, true, { arguments: '{"a":1}' });

  const waiting = view(...asked);
  const half = view(...asked, first);
  const whole = view(...asked, first, second);

  assert.deepEqual([only(waiting).state, only(waiting).pending.length], ["awaiting_approval", 2]);
  assert.deepEqual([callOf(only(waiting), 1).state, only(waiting).approvalSince !== null], ["pending", true]);
  assert.equal(only(half).state, "awaiting_approval");
  assert.deepEqual(
    only(half).pending.map((one) => one.decided),
    [{ approved: false, by: "ann", reason: "No." }, null],
  );
  assert.deepEqual([only(whole).state, only(whole).pending, only(whole).approvalSince], ["running", [], null]);
  const { approved, by, reason, arguments: changed } = callOf(only(whole), 2).decision;
  assert.deepEqual([approved, by, reason, changed], [true, "ann", null, '{"a":1}']);
});

test("an approval that expires or is cancelled leaves what waits", () => {
  const { log, start } = begun();
  const asked = [...start, log.calls(1, 1, 2), log.asked(1, 2), log.result(1, { status: "denied" })];
  assert.deepEqual([only(view(...asked)).state, only(view(...asked)).pending.length], ["awaiting_approval", 1]);
  const ended = only(view(...asked, log.result(2, { status: "cancelled" }), log.finished({ outcome: "cancelled" })));
  assert.deepEqual([ended.state, ended.pending, ended.approvalSince], ["finished", [], null]);
});

/** A session, its child and its grandchild, which waits for a person. */
function family() {
  const { log, start } = begun();
  const below = { session: "ses_2", turn: "trn_2" };
  const deepest = { session: "ses_3", turn: "trn_3" };
  const handoff = (fields) => log.record("handoff_started", { agent: "desk", ...fields });
  const parent = (session, turn) => ({ session, turn, call: 1 });
  const events = [
    ...start,
    log.calls(1, 1),
    handoff({ call: 1, child: below }),
    log.created({ ...below, turn: null, parent: parent("ses_1", "trn_1") }),
    log.user("Below", below),
    { ...log.calls(1, 1), ...below, seq: 3 },
    handoff({ ...below, seq: 4, call: 1, child: deepest }),
    log.created({ ...deepest, turn: null, parent: parent("ses_2", "trn_2") }),
    log.user("Deepest", deepest),
    { ...log.calls(1, 1, 2), ...deepest, seq: 3 },
    {
      ...log.record("approval_requested", { calls: [log.pending(1, deepest), log.pending(2, deepest)] }),
      ...deepest,
      seq: 4,
    },
  ];
  return { log, events, below, deepest };
}

test("what a grandchild waits for is shown all the way up, and decided there", () => {
  const { log, events, below, deepest } = family();

  const waiting = view(...events);
  const decide = (call, seq) => ({ ...log.decided(call, true), ...deepest, seq });
  const half = view(...events, decide(1, 5));
  const done = view(...events, decide(1, 5), decide(2, 6));

  for (const id of ["ses_1", "ses_2", "ses_3"]) {
    const [turn] = Object.values(sessionOf(waiting, id).turns);
    assert.deepEqual(
      [turn.state, turn.pending.map((one) => [one.session, one.turn])],
      [
        "awaiting_approval",
        [
          ["ses_3", "trn_3"],
          ["ses_3", "trn_3"],
        ],
      ],
    );
  }
  assert.equal(only(half).state, "awaiting_approval");
  assert.deepEqual(
    only(half).pending.map((one) => one.decided?.approved ?? null),
    [true, null],
  );
  assert.deepEqual([only(done).state, only(done).pending], ["running", []]);
  assert.equal(waiting.children.ses_2.children.ses_3, sessionOf(waiting, "ses_3"));
  assert.deepEqual(callOf(only(waiting), 1).child, { ...below, agent: "desk", outcome: null });
  assert.equal(waiting.lastPos, events.at(-1).pos);
});

test("a child's signals go to the child, and its end and its answer to the call", () => {
  const { log, events, below, deepest } = family();
  const spoken = log.signal("content", { ...deepest, step: 2, text: "Hi", offset: 0 });
  const ended = { ...log.finished(deepest), seq: 5 };
  const returned = {
    ...log.record("handoff_returned", { call: 1, child: deepest, outcome: "answered", content: "Done.", waited_s: 0 }),
    ...below,
    seq: 5,
  };

  const seen = view(...events, spoken);
  const after = view(...events, ended, returned);

  assert.equal(sessionOf(seen, "ses_3").turns.trn_3.steps[1].content, "Hi");
  assert.equal(only(after).state, "running");
  assert.equal(callOf(sessionOf(after, "ses_2").turns.trn_2, 1).child.outcome, "answered");
});
