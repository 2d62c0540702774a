// @ts-check
/** One step of a turn: its text while it comes, and what is kept of it. */

import { codePoints, dropCodePoints } from "../text.js";
import { newCall } from "./call.js";
import { newStep } from "./shapes.js";

/**
 * @typedef {import("./shapes.js").Event} Event
 * @typedef {import("./shapes.js").Step} Step
 * @typedef {import("./shapes.js").Turn} Turn
 * @typedef {import("../draft.js").Draft<import("./shapes.js").View>} SessionDraft
 */

/** Until the server tells, a token counts as so many characters. */
const CHARACTERS_OF_A_TOKEN = 4;

/**
 * Give a step to be changed; a new one where none has this number.
 * @param {SessionDraft} draft
 * @param {Turn} turn an own one
 * @param {number} number
 * @returns {Step}
 */
export function stepOf(draft, turn, number) {
  const steps = draft.within(turn, "steps");
  const place = steps.findLastIndex((step) => step.number <= number);
  if (place >= 0 && steps[place].number === number) return draft.within(steps, place);
  const step = draft.made(newStep(number));
  steps.splice(place + 1, 0, step);
  return step;
}

/**
 * Say whether the text of a step may still come: a signal about another one is old news.
 * @param {Turn} turn
 * @param {number} number
 */
export function isInFlight(turn, number) {
  const last = turn.steps.at(-1);
  return last === undefined || last.number < number || (last.number === number && !last.settled);
}

/**
 * Say whether a delta brings anything: what a replay says again does not.
 * @param {Turn} turn
 * @param {Event} event `reasoning` or `content`
 */
export function isNews(turn, event) {
  const step = turn.steps.at(-1);
  if (step === undefined || step.number !== event.step) return true;
  return event.offset + codePoints(event.text) > lengthOf(step, event.type);
}

function lengthOf(/** @type {Step} */ step, /** @type {string} */ part) {
  return part === "reasoning" ? step.reasoningLength : step.contentLength;
}

/**
 * Take a delta: what is there already is passed over.
 * @param {Step} step an own one
 * @param {Event} event `reasoning` or `content`
 */
export function addText(step, event) {
  const length = lengthOf(step, event.type);
  const text = event.offset < length ? dropCodePoints(event.text, length - event.offset) : event.text;
  const end = event.offset + codePoints(event.text);
  if (event.type === "content") {
    step.content += text;
    step.contentLength = end;
  } else {
    step.reasoning += text;
    step.reasoningLength = end;
    estimate(step);
  }
  step.retrying = null;
}

/**
 * Take all the text that a step has, in place of what was known of it.
 * @param {Step} step an own one
 * @param {{reasoning: string, content: string}} said
 */
export function setText(step, said) {
  step.reasoning = said.reasoning;
  step.content = said.content;
  step.reasoningLength = codePoints(said.reasoning);
  step.contentLength = codePoints(said.content);
  estimate(step);
  if (said.reasoning || said.content) step.retrying = null;
}

function estimate(/** @type {Step} */ step) {
  step.reasoningTokens = step.reasoning ? Math.ceil(step.reasoningLength / CHARACTERS_OF_A_TOKEN) : null;
  step.reasoningTokensEstimated = step.reasoning !== "";
}

/**
 * Forget the text of an attempt that failed.
 * @param {Step} step an own one
 */
export function forgetText(step) {
  setText(step, { reasoning: "", content: "" });
  step.thinkingCapped = false;
}

/**
 * Take the record of a step.
 * @param {SessionDraft} draft
 * @param {Step} step an own one
 * @param {Event} event `assistant`
 */
export function settle(draft, step, event) {
  setText(step, /** @type {any} */ (event));
  step.settled = true;
  step.retrying = null;
  step.thinkingCapped = false;
  step.finishReason = event.finish_reason;
  step.settledAt = event.time;
  step.calls = draft.made(event.tool_calls.map((/** @type {any} */ made) => draft.made(newCall(made))));
  step.cutCalls = event.cut_calls ?? [];
}

/**
 * Take what a kept step has cost.
 * @param {Step} step an own one
 * @param {Event} event `usage`
 */
export function addUsage(step, event) {
  step.reasoningTokens = event.reasoning_tokens;
  step.reasoningTokensEstimated = false;
  step.thinkingCapped = event.thinking_capped;
  step.usage = {
    promptTokens: event.prompt_tokens,
    cachedTokens: event.cached_tokens,
    completionTokens: event.completion_tokens,
    reasoningTokens: event.reasoning_tokens,
    thinkingCapped: event.thinking_capped,
    estimated: event.estimated ?? false,
    timings: event.timings,
  };
}
