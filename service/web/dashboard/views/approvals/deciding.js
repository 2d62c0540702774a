/** What a decision is and what became of it: sent, refused in words, sent again with the same key. */

import { turnPath } from "../../net/paths.js";
import { useRequestKey } from "../../parts/request_key.js";
import { told, toast } from "../../parts/toast.js";
import { decidedHere, notDecidedHere } from "../../state/approvals.js";
import { visible } from "../../state/text.js";
import { useState } from "../../vendor/htm-preact.js";
import { fetchPage } from "../log/pages.js";

const REFUSALS = {
  not_pending:
    "Nothing was decided here: the call no longer waits. Its time is over, or its turn has ended.",
  digest_mismatch:
    "Nothing was decided: the call that waits is not the one that was shown here. Look at it as it is now.",
  unreachable:
    "The service can't be reached, so it is not known whether the decision arrived. Send it again: it counts once.",
};

/**
 * @typedef {{call: number, approved: boolean, digest: string, arguments?: string, reason?: string,
 *   signature?: object}} Decision
 */

/**
 * Send decisions on calls of one turn, all or none.
 * @param {{api: any, live: any, items: any[]}} props the calls that are decided on
 * @returns {{send: (decisions: Decision[]) => Promise<"taken"|"gone"|"refused">, busy: boolean, refusal: any,
 *   forget: () => void}} `gone`: it waits no longer; `refusal`: what was thrown, when the last one was refused
 */
export function useDeciding({ api, live, items }) {
  const [busy, setBusy] = useState(false);
  const [refusal, setRefusal] = useState(null);
  const keyOfBody = useRequestKey();
  const send = async (decisions) => {
    const body = { decisions };
    setBusy(true);
    setRefusal(null);
    for (const item of items) live.inbox(decidedHere, item);
    try {
      const turn = await api.post(`${turnPath(items[0].session, items[0].turn)}/decisions`, body, {
        idempotencyKey: keyOfBody(body),
        headers: { Prefer: "respond-async" },
      });
      toast(outcome(decisions, turn), "good");
      return "taken";
    } catch (problem) {
      for (const item of items) live.inbox(notDecidedHere, item);
      setRefusal(problem);
      if (problem.status !== 409) return "refused";
      // The card may be gone with the next listing, so it is said where it stays.
      toast((await whoWasFirst(api, items, problem)) ?? refusalInWords(problem), "bad");
      await live.refreshApprovals().catch(() => {});
      return "gone";
    } finally {
      setBusy(false);
    }
  };
  return { send, busy, refusal, forget: () => setRefusal(null) };
}

/** Ask the log who has decided, and how: the news of it may have come while ours was on its way. */
async function whoWasFirst(api, items, problem) {
  if (problem.code !== "not_pending") return null;
  const [{ session, turn }] = items;
  try {
    const { first_seq: first } = await api.get(turnPath(session, turn));
    const { rows } = await fetchPage(api, session, { after: first - 1, filter: { type: "approval_decided", turn } });
    const calls = items.map(({ call }) => call);
    const theirs = rows.map(({ record }) => record).find(({ call }) => calls.includes(call));
    if (!theirs) return null;
    const what = `${theirs.approved ? "approved" : "denied"} call ${theirs.call}`;
    return `Nothing was decided here: ${visible(theirs.by)} was first and has ${what}.`;
  } catch {
    return null;
  }
}

/**
 * Say why a decision was not taken.
 * @param {any} problem what the request threw
 */
export function refusalInWords(problem) {
  return REFUSALS[problem.code] ?? told(problem);
}

/** Whether a signature would have helped. */
export function wantsSignature(problem) {
  return problem?.code === "forbidden" && /\bsign/.test(problem.detail ?? "");
}

function outcome(decisions, turn) {
  const verb = decisions.every(({ approved }) => approved) ? "Approved" : "Denied";
  const said = decisions.length > 1 ? `${decisions.length} calls ${verb.toLowerCase()}` : verb;
  const left = turn?.pending?.length ?? 0;
  if (left === 0) return `${said}: the turn goes on.`;
  return `${said}. ${left} more ${left === 1 ? "call" : "calls"} of this turn to decide.`;
}
