/** What a session is called. */

import { shortId } from "../../parts/session_link.js";
import { clip, visible } from "../../state/text.js";

/** Code points of a title that is made of a message. */
export const TITLE_LENGTH = 80;

/**
 * Name a session: by its title, the words in it, or its id.
 * @param {{id: string, title: string, lastText?: string|null}} row
 */
export function rowTitle({ id, title, lastText = null }) {
  const words = (lastText ?? "").trim().split("\n")[0];
  return visible(title || (words && clip(words, TITLE_LENGTH)) || shortId(id), { keep: "" });
}
