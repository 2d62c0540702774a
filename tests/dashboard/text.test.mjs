import assert from "node:assert/strict";
import { test } from "node:test";
import * as text from "../../service/web/dashboard/state/text.js";

test("hidden characters are shown as escapes, apart from what can be seen", () => {
  assert.deepEqual(text.visiblePieces("pay\u202eevil\u202c!"), [
    { text: "pay", control: false },
    { text: "\\u202e", control: true },
    { text: "evil", control: false },
    { text: "\\u202c", control: true },
    { text: "!", control: false },
  ]);
  assert.equal(
    text.visible("a\0b\u200bc\u{e0041}d\ud800e\u2028f\u007f"),
    "a\\u0000b\\u200bc\\U000e0041d\\ud800e\\u2028f\\u007f",
  );
  assert.equal(text.visible("\r\u001b[2J\ufeff"), "\\r\\u001b[2J\\ufeff");
  assert.deepEqual(text.visiblePieces(""), []);
});

test("line ends and tabs stay unless they are to be shown as well", () => {
  assert.equal(text.visible("a\n\tb"), "a\n\tb");
  assert.deepEqual(text.visiblePieces("a\nb"), [{ text: "a\nb", control: false }]);
  assert.equal(text.visible("a\n\tb", { keep: "" }), "a\\n\\tb");
});

test("letters, marks and emoji of all languages are not hidden", () => {
  for (const shown of ["naïve", "日本語", "עברית", "é", "🇫🇷", "🤔"]) assert.equal(text.visible(shown), shown);
  // What joins an emoji is a format character, as the service has it.
  assert.equal(text.visible("👩‍🚀"), "👩\\u200d🚀");
});

test("lengths are counted in bytes and in code points", () => {
  assert.deepEqual([text.utf8Length("é🚀a"), text.codePoints("é🚀a"), text.codePoints("")], [7, 3, 0]);
  assert.equal(text.codePoints("\ud800a\udc00"), 3);
});

test("texts are cut between code points", () => {
  assert.deepEqual(
    [0, 1, 2, 3, 9].map((count) => text.dropCodePoints("a🚀b", count)),
    ["a🚀b", "🚀b", "b", "", ""],
  );
  assert.deepEqual(
    [1, 2, 3].map((most) => text.clip("a🚀b", most)),
    ["a…", "a🚀…", "a🚀b"],
  );
});

test("bytes are said in the unit that fits", () => {
  const said = [0, 1, 1023, 1024, 1536, 1_048_575, 8_388_608, 5 * 1024 ** 4].map(text.formatBytes);
  assert.deepEqual(said, ["0 bytes", "1 byte", "1023 bytes", "1.0 KiB", "1.5 KiB", "1.0 MiB", "8.0 MiB", "5.0 TiB"]);
});

test("durations are said in the units that fit", () => {
  const said = [0, 840.4, 999.6, 12_430, 59_949, 59_960, 185_000, 3_599_600, 7_440_000].map(text.formatDuration);
  assert.deepEqual(said, [
    "0 ms",
    "840 ms",
    "1.0 s",
    "12.4 s",
    "59.9 s",
    "1 min 0 s",
    "3 min 5 s",
    "1 h 0 min",
    "2 h 4 min",
  ]);
});

test("numbers have their thousands apart", () => {
  assert.equal(text.formatNumber(1234567), "1,234,567");
});
