/** Save a text as a file of the person who looks. */

/** The browser has read it by then. */
const FORGOTTEN_MS = 60_000;

/**
 * Save a text under a name.
 * @param {string} name
 * @param {string} text
 * @param {string} type a media type
 */
export function saveFile(name, text, type) {
  const address = URL.createObjectURL(new Blob([text], { type }));
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), FORGOTTEN_MS);
}
