// @ts-check
/** What completions cost, in tokens: the USAGE of the service in the names of the view. */

/**
 * @typedef {{prompt: number, cached: number, completion: number, reasoning: number, completions: number,
 *   toolCalls: number}} Usage
 */

/** @type {Usage} */
export const NO_USAGE = Object.freeze({
  prompt: 0,
  cached: 0,
  completion: 0,
  reasoning: 0,
  completions: 0,
  toolCalls: 0,
});

/**
 * Read sums, or what one completion cost, which counts as one.
 * @param {Record<string, any>} told
 * @returns {Usage}
 */
export function usageOf(told) {
  return {
    prompt: told.prompt_tokens ?? 0,
    cached: told.cached_tokens ?? 0,
    completion: told.completion_tokens ?? 0,
    reasoning: told.reasoning_tokens ?? 0,
    completions: told.completions ?? 1,
    toolCalls: told.tool_calls ?? 0,
  };
}

/**
 * Add two sums.
 * @param {Usage} one
 * @param {Usage} other
 * @returns {Usage}
 */
export function plus(one, other) {
  return {
    prompt: one.prompt + other.prompt,
    cached: one.cached + other.cached,
    completion: one.completion + other.completion,
    reasoning: one.reasoning + other.reasoning,
    completions: one.completions + other.completions,
    toolCalls: one.toolCalls + other.toolCalls,
  };
}
