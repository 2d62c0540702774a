import assert from "node:assert/strict";
import { test } from "node:test";
import * as approvals from "../../service/web/dashboard/state/approvals.js";
import { Log, following, frozen } from "./recorded.mjs";

test("the inbox holds what was asked and is not decided, oldest first", () => {
  const log = new Log();
  const later = log.pending(3, { asked_at: "2026-01-01T00:00:00.5Z" });
  const inbox = approvals.withListing(approvals.emptyInbox(), { items: [later, log.pending(1)], count: 2 });
  const asked = following(approvals, frozen(inbox), [log.asked(2), log.asked(2)]);
  assert.deepEqual(
    approvals.waiting(asked).map((item) => item.call),
    [1, 2, 3],
  );
  assert.equal(approvals.count(asked), 3);
  assert.equal(approvals.keyOf(later), "ses_1/3");
});

test("what was decided elsewhere says by whom until somebody has read it", () => {
  const log = new Log();
  const asked = following(approvals, frozen(approvals.emptyInbox()), [log.asked(1, 2)]);
  const decided = following(approvals, asked, [
    log.decided(1, false, { reason: "No." }),
    log.result(1),
    log.finished(),
  ]);
  assert.deepEqual(decided.items["ses_1/1"].decidedElsewhere, {
    approved: false,
    by: "ann",
    reason: "No.",
    how: "decided",
  });
  // The other one was still open when the turn ended.
  assert.equal(Object.hasOwn(decided.items, "ses_1/2"), false);
  assert.equal(approvals.count(decided), 0);
  assert.deepEqual(approvals.acknowledged(decided, { session: "ses_1", call: 1 }).items, {});
  assert.equal(approvals.acknowledged(asked, { session: "ses_1", call: 1 }), asked);
});

test("what was decided here leaves without a word, and stays when that was refused", () => {
  const log = new Log();
  const asked = following(approvals, frozen(approvals.emptyInbox()), [log.asked(1)]);
  const deciding = approvals.decidedHere(asked, log.pending(1));
  assert.equal(approvals.count(deciding), 1);
  const decided = approvals.reduce(deciding, log.decided(1, true));
  assert.deepEqual([decided.items, decided.here], [{}, {}]);
  const refused = approvals.reduce(approvals.notDecidedHere(deciding, log.pending(1)), log.decided(1, true));
  assert.equal(refused.items["ses_1/1"].decidedElsewhere.by, "ann");
});

test("what expired, or ended otherwise, says so", () => {
  const log = new Log();
  const asked = following(approvals, frozen(approvals.emptyInbox()), [log.asked(1, 2)]);
  const expired = log.result(1, { status: "denied", content: '{"approved":false,"error":"approval expired"}' });
  const after = following(approvals, asked, [expired, log.result(2, { status: "cancelled" })]);
  assert.deepEqual(
    ["ses_1/1", "ses_1/2"].map((key) => after.items[key].decidedElsewhere.how),
    ["expired", "ended"],
  );
});

test("a listing takes away what is gone, and does not bring back what was settled meanwhile", () => {
  const log = new Log();
  const asked = following(approvals, frozen(approvals.emptyInbox()), [log.asked(1, 2)]);
  const decided = approvals.acknowledged(approvals.reduce(asked, log.decided(1, true)), { session: "ses_1", call: 1 });
  const old = approvals.withListing(decided, { items: [log.pending(1), log.pending(2)] });
  assert.deepEqual(
    approvals.waiting(old).map((item) => item.call),
    [2],
  );
  const none = approvals.withListing(old, { items: [] });
  assert.equal(none.items["ses_1/2"].decidedElsewhere.how, "ended");
  // The port may ask for an approval of a call that was approved (A1b).
  assert.equal(approvals.count(approvals.reduce(decided, log.asked(1))), 2);
});

test("a session that is deleted leaves the inbox, read or not", () => {
  const log = new Log();
  const asked = following(approvals, frozen(approvals.emptyInbox()), [log.asked(1, 2), log.decided(1, true)]);
  assert.deepEqual(approvals.reduce(asked, log.signal("session_deleted", { turn: null })).items, {});
});

test("what nobody reads is kept in bounds", () => {
  const log = new Log();
  let inbox = approvals.emptyInbox();
  for (let call = 1; call <= 600; call += 1)
    inbox = approvals.reduceAll(inbox, [log.asked(call), log.decided(call, true)]);
  assert.deepEqual(Object.keys(inbox.items).length, 20);
  assert.equal(Object.keys(inbox.settled).length, 500);
  assert.ok(Object.hasOwn(inbox.items, "ses_1/600"));
});

test("other events leave the inbox as it is", () => {
  const log = new Log();
  const asked = following(approvals, frozen(approvals.emptyInbox()), [log.asked(1)]);
  for (const event of [
    log.user(),
    log.result(7),
    log.signal("content", { step: 1, text: "x", offset: 0 }),
    log.signal("toString"),
  ])
    assert.equal(approvals.reduce(asked, event), asked);
});
