/** What is asked of the service for a session: turns that can't run twice, and forks. */

import { sessionPath } from "../../net/paths.js";

/** A turn's events come by the session's stream, so nobody waits for the answer. */
const AT_ONCE = { Prefer: "respond-async" };

/**
 * Start a turn.
 * @param {any} api
 * @param {string} session
 * @param {object} body
 * @param {string} idempotencyKey the same for each try of the same
 * @returns {Promise<any>} the turn
 */
export function startTurn(api, session, body, idempotencyKey) {
  return api.post(`${sessionPath(session)}/turns`, body, { idempotencyKey, headers: AT_ONCE });
}

/**
 * Ask again in a copy of the conversation as it was before a turn.
 * @param {any} api
 * @param {{session: string, turn: any, limits: any, title: string, content: string, key: string}} asked `limits`: those
 *   of the session; `key`: the same for each try of the same
 * @returns {Promise<any>} the new session
 */
export async function askAgain(api, { session, turn, limits, title, content, key }) {
  const copy = { fork: { session, before: turn.id }, ...(title && { title }) };
  const made = await api.post("sessions", copy, { idempotencyKey: `${key}-fork` });
  await startTurn(api, made.id, { content, ...optionsOf(turn, limits) }, `${key}-turn`);
  return made;
}

/** What a turn was asked for beside its message; limits only where they were lower than the session's. */
function optionsOf(turn, limits) {
  if (!turn.options) return {};
  const { tool_choice, on_tool_limit, response_format, limits: own = {} } = turn.options;
  const lowered = Object.fromEntries(Object.entries(own).filter(([name, value]) => value !== limits?.[name]));
  return {
    ...(tool_choice && { tool_choice }),
    ...(on_tool_limit && { on_tool_limit }),
    ...(response_format && { response_format }),
    ...(Object.keys(lowered).length > 0 && { limits: lowered }),
  };
}
