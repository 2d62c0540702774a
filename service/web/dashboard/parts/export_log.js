/** The whole log of a session as a file, one record a line. */

import { sessionPath } from "../net/paths.js";
import { saveFile } from "./save_file.js";

const NDJSON = "application/x-ndjson";

/**
 * Fetch the log and save it.
 * @param {any} api
 * @param {string} session
 */
export async function exportLog(api, session) {
  const lines = await api.text(`${sessionPath(session)}/records`, { headers: { Accept: NDJSON } });
  // By now the service knows the id, so that it is a name of a file as well.
  saveFile(`${session}.ndjson`, lines, NDJSON);
}
