/** Files that somebody drops anywhere on the page. */

import { useEffect, useRef, useState } from "../vendor/htm-preact.js";

/**
 * Take files that are dropped on the page for as long as the caller is shown.
 * @param {(files: File[], folders: string[]) => void} onFiles called with the files, and the names of folders, which
 *   can't be taken
 * @returns {boolean} whether files are held over the page now
 */
export function useDroppedFiles(onFiles) {
  const [isOver, setOver] = useState(false);
  const take = useRef(onFiles);
  take.current = onFiles;
  useEffect(() => {
    // Each element that is entered is one more, each that is left one less; 0 is outside.
    let depth = 0;
    const on = {
      dragenter: (event) => {
        if (!hasFiles(event)) return;
        depth += 1;
        setOver(true);
      },
      dragleave: (event) => {
        if (!hasFiles(event)) return;
        depth = Math.max(0, depth - 1);
        if (depth === 0) setOver(false);
      },
      dragover: (event) => {
        if (!hasFiles(event)) return;
        // Without this the browser opens the file in place of the page.
        event.preventDefault();
        event.dataTransfer.dropEffect = "copy";
      },
      drop: (event) => {
        if (!hasFiles(event)) return;
        event.preventDefault();
        depth = 0;
        setOver(false);
        take.current(...filesOf(event.dataTransfer));
      },
    };
    for (const [name, listener] of Object.entries(on)) addEventListener(name, listener);
    return () => {
      for (const [name, listener] of Object.entries(on)) removeEventListener(name, listener);
    };
  }, []);
  return isOver;
}

function hasFiles(event) {
  return event.dataTransfer?.types.includes("Files") ?? false;
}

function filesOf(transfer) {
  const files = [];
  const folders = [];
  for (const item of transfer.items) {
    if (item.kind !== "file") continue;
    const file = item.getAsFile();
    if (item.webkitGetAsEntry?.()?.isDirectory) folders.push(file?.name ?? "a folder");
    else if (file) files.push(file);
  }
  return [files, folders];
}
