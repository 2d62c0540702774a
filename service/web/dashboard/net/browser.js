// @ts-check
/** What following a stream needs of the browser, so that tests can stand in for it. */

/**
 * @typedef {object} Surroundings
 * @property {(call: () => void, ms: number) => unknown} setTimeout
 * @property {(timer: unknown) => void} clearTimeout
 * @property {() => number} random
 * @property {(call: () => void) => () => void} onFrame call once at the next frame; gives the function that drops it
 * @property {(call: () => void) => () => void} onWake call whenever it is worth trying at once; gives the function
 *   that ends it
 */

/** Frames do not come while a tab is hidden, and what waits for them must not pile up. */
const LONGEST_FRAME_MS = 500;

/** The browser itself. @returns {Surroundings} */
export function browser() {
  return {
    setTimeout: (call, ms) => setTimeout(call, ms),
    clearTimeout: (timer) => clearTimeout(/** @type {any} */ (timer)),
    random: Math.random,
    onFrame,
    onWake,
  };
}

function onFrame(/** @type {() => void} */ call) {
  const drop = () => {
    cancelAnimationFrame(frame);
    clearTimeout(timer);
  };
  const once = () => {
    drop();
    call();
  };
  const frame = requestAnimationFrame(once);
  const timer = setTimeout(once, LONGEST_FRAME_MS);
  return drop;
}

function onWake(/** @type {() => void} */ call) {
  const seen = () => {
    if (!document.hidden) call();
  };
  document.addEventListener("visibilitychange", seen);
  addEventListener("online", call);
  return () => {
    document.removeEventListener("visibilitychange", seen);
    removeEventListener("online", call);
  };
}
