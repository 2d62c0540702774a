import assert from "node:assert/strict";
import { test } from "node:test";
import { World, record, settled, signal } from "./world.mjs";

test("what comes between two frames is handed over at once, records with their place", async () => {
  const world = new World();
  const stream = world.willStream();
  await world.follow();
  stream.write(`retry: 2000\n\n${record(3)}${signal("content", { text: "é" })}`);
  stream.write(": ping\n\n");
  await world.frame();
  stream.write(record(5));
  await world.frame();

  assert.deepEqual(world.states, ["connecting", "live"]);
  assert.deepEqual(world.batches, [
    [
      { type: "user", pos: 3 },
      { type: "content", session: null, text: "é", pos: null },
    ],
    [{ type: "user", pos: 5 }],
  ]);
  assert.deepEqual(world.cursors, [null]);
});

test("characters that are cut between two pieces come whole", async () => {
  const world = new World();
  const stream = world.willStream();
  await world.follow();
  const bytes = new TextEncoder().encode(signal("content", { text: "🚀" }));
  for (const byte of bytes) stream.write(new Uint8Array([byte]));
  await world.frame();
  assert.equal(world.batches[0][0].text, "🚀");
});

test("a stream that ends, or breaks, is resumed behind the last record", async () => {
  const world = new World();
  for (const cut of ["end", "fail"]) {
    const stream = world.willStream();
    await (cut === "end" ? world.follow({ after: 1 }) : world.pass(10_000));
    stream.write(record(cut === "end" ? 7 : 9));
    await world.frame();
    stream[cut]();
    await settled();
  }
  const last = world.willStream();
  await world.pass(10_000);
  last.write(record(11));
  await world.frame();

  assert.deepEqual(world.cursors, ["1", "7", "9"]);
  assert.deepEqual(world.types, [
    ["user", 7],
    ["user", 9],
    ["user", 11],
  ]);
  assert.deepEqual(world.states, ["connecting", "live", "reconnecting", "live", "reconnecting", "live"]);
});

test("the last id is kept through connections that bring none", async () => {
  const world = new World();
  const first = world.willStream();
  await world.follow();
  first.write(record(7));
  await settled();
  first.end();
  for (let cut = 0; cut < 2; cut += 1) {
    const stream = world.willStream();
    await settled();
    await world.pass(10_000);
    stream.write(cut === 0 ? signal("waiting") : "event: user\nid: 9");
    await settled();
    stream.end();
  }
  await world.pass(10_000);
  // A record that did not come whole was not there.
  assert.deepEqual(world.cursors.slice(0, 4), [null, "7", "7", "7"]);
});

test("a cursor that is given is kept before anything comes", async () => {
  const world = new World();
  await world.follow({ after: 0 });
  assert.deepEqual(world.cursors, ["0"]);
});

test("what can't be reached is tried again, later and later, up to five seconds", async () => {
  const world = new World();
  for (let attempt = 0; attempt < 8; attempt += 1) world.answers.push(new TypeError("refused"));
  await world.follow();
  await world.pass(60_000);
  const waits = world.requests.slice(1).map(({ at }, place) => at - world.requests[place].at);
  assert.deepEqual(waits.slice(0, 8), [250, 500, 1000, 2000, 4000, 5000, 5000, 5000]);
  assert.deepEqual(world.states, ["connecting", "reconnecting"]);
});

test("what was reached once is tried again soon", async () => {
  const world = new World();
  for (let attempt = 0; attempt < 5; attempt += 1) world.answers.push(new TypeError("refused"));
  const stream = world.willStream();
  await world.follow();
  // The sixth attempt comes 7.75 seconds after the first.
  await world.pass(8_000);
  stream.write(": ping\n\n");
  await settled();
  stream.end();
  await settled();
  await world.pass(250);
  assert.equal(world.requests.length, 7);
});

test("pages do not all come back at the same moment", async () => {
  const world = new World();
  world.random = 0.8;
  world.answers.push(new TypeError("refused"));
  await world.follow();
  await world.pass(299);
  assert.equal(world.requests.length, 1);
  await world.pass(1);
  assert.equal(world.requests.length, 2);
});

test("a service that says how long to wait is obeyed, and one that is back is no failure", async () => {
  const world = new World();
  const stream = world.willStream();
  await world.follow();
  stream.write(`retry: 2000\n\n${signal("user")}retry: 5000\n${signal("shutting_down")}`);
  await settled();
  stream.end();
  await settled();
  await world.pass(4999);
  assert.equal(world.requests.length, 1);
  world.answers.push(new TypeError("refused"));
  await world.pass(1);
  await world.pass(500);
  assert.equal(world.requests.length, 3);
});

for (const status of [408, 429, 500, 502, 503]) {
  test(`a ${status} passes, and its Retry-After is obeyed`, async () => {
    const world = new World();
    world.willAnswer(status, { "Retry-After": "3" });
    const stream = world.willStream();
    await world.follow();
    await world.pass(2999);
    assert.deepEqual(world.states, ["connecting", "reconnecting"]);
    await world.pass(1);
    stream.write(record(1));
    await world.frame();
    assert.deepEqual(world.states.at(-1), "live");
  });
}

for (const [status, state] of [
  [204, "ended"],
  [404, "gone"],
  [422, "gone"],
  [401, "unauthorized"],
  [403, "forbidden"],
]) {
  test(`a ${status} is final: ${state}`, async () => {
    const world = new World();
    world.willAnswer(status);
    await world.follow();
    await world.pass(120_000);
    await world.wake();
    assert.deepEqual(world.states, ["connecting", state]);
    assert.deepEqual([world.requests.length, world.timers.size, world.wakers.size], [1, 0, 0]);
  });
}

test("a stream that is refused for want of a key goes on behind the last record with the next key", async () => {
  const world = new World();
  const givers = new Set();
  const onKey = (listener) => {
    givers.add(listener);
    return () => givers.delete(listener);
  };
  const stream = world.willStream();
  world.willAnswer(401);
  world.willStream();
  await world.follow({ api: { ...world.api, onKey } });
  stream.write(record(7));
  await world.frame();
  stream.end();
  await world.pass(250);
  await world.pass(120_000);
  assert.deepEqual([world.states.at(-1), world.requests.length], ["unauthorized", 2]);
  for (const give of [...givers]) give();
  await settled();
  assert.deepEqual([world.states.at(-1), world.cursors.at(-1), givers.size], ["live", "7", 0]);
});

test("a stream that waits for a key is closed like any other", async () => {
  const world = new World();
  const givers = new Set();
  const onKey = (listener) => {
    givers.add(listener);
    return () => givers.delete(listener);
  };
  world.willAnswer(401);
  await world.follow({ api: { ...world.api, onKey } });
  world.following.close();
  assert.deepEqual([givers.size, world.timers.size, world.wakers.size], [0, 0, 0]);
});

test("a turn's stream that has ended stays so after all of it was handed over", async () => {
  const world = new World();
  const stream = world.willStream();
  world.willAnswer(204);
  await world.follow({ after: 0, onState: (state) => world.states.push([state, world.types.length]) });
  stream.write(record(4, "turn_finished"));
  await settled();
  stream.end();
  await settled();
  await world.pass(250);
  assert.deepEqual(world.states, [
    ["connecting", 0],
    ["live", 0],
    ["reconnecting", 0],
    ["ended", 1],
  ]);
  assert.deepEqual(world.cursors, ["0", "4"]);
});

test("a session that is deleted is gone, and the last events are handed over before", async () => {
  const world = new World();
  const stream = world.willStream();
  await world.follow({}, "sessions/ses_1/events");
  stream.write(record(1) + signal("session_deleted", { session: "ses_1" }));
  await settled();
  assert.deepEqual(world.types, [
    ["user", 1],
    ["session_deleted", null],
  ]);
  assert.deepEqual(world.states, ["connecting", "live", "gone"]);
  assert.ok(world.requests[0].signal.aborted);
});

test("a stream goes on when a session is deleted that it is not the stream of", async () => {
  for (const path of ["events", "sessions/ses_2/events"]) {
    const world = new World();
    const stream = world.willStream();
    await world.follow({}, path);
    stream.write(signal("session_deleted", { session: "ses_1" }));
    await world.frame();
    assert.deepEqual(world.states, ["connecting", "live"]);
  }
});

test("a connection on which nothing comes for forty seconds is cut, one with comments is not", async () => {
  const world = new World();
  const stream = world.willStream();
  await world.follow();
  for (let ping = 0; ping < 4; ping += 1) {
    await world.pass(39_000);
    stream.write(": ping\n\n");
    await settled();
  }
  assert.equal(world.requests.length, 1);
  await world.pass(40_000);
  assert.ok(world.requests[0].signal.aborted);
  assert.deepEqual(world.states, ["connecting", "live", "reconnecting"]);
  await world.pass(250);
  assert.equal(world.requests.length, 2);
});

test("an answer that never begins is cut as well", async () => {
  const world = new World();
  await world.follow();
  await world.pass(40_000);
  assert.ok(world.requests[0].signal.aborted);
  await world.pass(250);
  assert.equal(world.requests.length, 2);
});

test("who looks at the page again, or is back in the network, does not wait", async () => {
  const world = new World();
  world.answers.push(new TypeError("refused"));
  await world.follow();
  assert.equal(world.requests.length, 1);
  const stream = world.willStream();
  await world.wake();
  assert.equal(world.requests.length, 2);
  stream.write(": ping\n\n");
  await settled();
  await world.wake();
  await world.pass(10_000);
  assert.equal(world.requests.length, 2);
});

test("a store that is another one is told of, and followed from its end", async () => {
  const world = new World();
  const stream = world.willStream();
  await world.follow({ after: 900 });
  stream.write(signal("resync", { last_pos: 12 }));
  await world.frame();
  stream.end();
  await settled();
  await world.pass(250);
  assert.deepEqual(world.types, [["resync", null]]);
  assert.deepEqual(world.cursors, ["900", "12"]);
});

test("what is no JSON is passed over", async () => {
  const world = new World();
  const stream = world.willStream();
  await world.follow();
  stream.write(`data: hello\n\n${record(2)}`);
  await world.frame();
  assert.deepEqual(world.types, [["user", 2]]);
});

for (const [name, end] of [
  ["closed", (world) => world.following.close()],
  ["aborted", (world, left) => left.abort()],
]) {
  test(`a stream that is ${name} says no more`, async () => {
    const world = new World();
    const left = new AbortController();
    const stream = world.willStream();
    await world.follow({ signal: left.signal });
    stream.write(record(1));
    await settled();
    end(world, left);
    await world.frame();
    await world.pass(120_000);
    assert.deepEqual([world.batches, world.states], [[], ["connecting", "live"]]);
    assert.deepEqual([world.timers.size, world.frames.size, world.wakers.size, world.requests.length], [0, 0, 0, 1]);
    assert.ok(world.requests[0].signal.aborted);
  });
}

test("one that is aborted before it begins does not begin", async () => {
  const world = new World();
  await world.follow({ signal: AbortSignal.abort() });
  assert.deepEqual([world.requests, world.states], [[], []]);
});
