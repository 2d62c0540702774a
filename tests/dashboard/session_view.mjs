/** Views of a session whose events are made by hand. */

import { emptySession, reduce } from "../../service/web/dashboard/state/session.js";
import { Log, following } from "./recorded.mjs";

/** Take events one by one; each view on the way is frozen, so that a change in place fails. */
export function view(...events) {
  return following({ reduce }, emptySession("ses_1"), events);
}

/** The one turn of a view. */
export function only(seen) {
  return seen.turns.trn_1;
}

/** A session with a turn that has begun. */
export function begun() {
  const log = new Log();
  return { log, start: [log.created(), log.user()] };
}
