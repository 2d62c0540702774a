/** Readings whose events are made by hand. */

import * as reading from "../../service/web/dashboard/state/reading.js";
import { USAGE, following } from "./recorded.mjs";

export const TIME = "2026-01-01T00:00:00.000000Z";

/** The log of a reading that is written by hand. */
export class ReadingLog {
  #seq = 0;

  record(type, fields = {}) {
    this.#seq += 1;
    return { type, reading: "rdg_1", seq: this.#seq, pos: this.#seq + 10, time: TIME, ...fields };
  }

  signal(type, fields = {}) {
    return { type, reading: "rdg_1", pos: null, ...fields };
  }

  begin({ ends = [[10, 25, 30]], level = 1, exit = "never" } = {}) {
    const documents = ends.map((places, at) => ({
      name: `${at}.txt`,
      media_type: "text/plain",
      bytes: places.at(-1),
      sha256: `d${at}`,
    }));
    const options = { level, exit, memory_budget: 64, chunk_tokens: null, parallel: null };
    const plan = {
      model: "m",
      template: "t",
      prompt: 1,
      context_tokens: 4096,
      chunk_tokens: 128,
      answer_tokens: 384,
      fence: "f",
    };
    return [
      this.record("reading_created", { v: 1, query: "Who?", documents, options, model: null }),
      this.record("reading_planned", { ...plan, ends }),
    ];
  }

  gate(chunk, update, fields = {}) {
    return this.record("gate", {
      level: 1,
      document: 1,
      chunk,
      update,
      exit: false,
      update_probability: 0.9,
      exit_probability: 0.8,
      ...fields,
    });
  }

  usage(chunk, fields = {}) {
    return this.record("usage", { level: 1, document: 1, chunk, usage: USAGE, ...fields });
  }

  kept(chunk, fields = {}) {
    return [this.gate(chunk, false, fields), this.usage(chunk, fields)];
  }

  used(chunk, { level = 1, document = 1, parents = [], text = `M${level}${document}${chunk}`, ...gate } = {}) {
    const evidence = `e${level}${document}${chunk}`;
    const place = { level, document };
    return [
      this.gate(chunk, true, { ...place, ...gate }),
      this.record("evidence", { level: level - 1, document, start: 10, end: 25, sha256: evidence }),
      this.record("memory", {
        ...place,
        chunk,
        text,
        tokens: 5,
        sha256: `m${level}${document}${chunk}`,
        parents: [evidence, ...parents],
      }),
      this.usage(chunk, place),
    ];
  }

  end(fields = {}) {
    return this.record("run_end", {
      level: 1,
      outcome: "answered",
      chunks_seen: 3,
      chunks_used: 1,
      calls: 4,
      exits_refused: 0,
      final_memory_sha: "m112",
      usage: USAGE,
      ...fields,
    });
  }
}

/** Where a chunk stands. */
export const place = (chunk, fields = {}) => ({ level: 1, document: 1, chunk, ...fields });

/** Take events one by one; each view on the way is frozen. */
export const view = (...events) => following(reading, reading.emptyReading("rdg_1"), events.flat());

/** What has become of the chunks of a pass. */
export const states = (seen, at = 0) => seen.passes[at].cells.map((cell) => cell.state);
