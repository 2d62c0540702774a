/** Where the keyboard goes when a call is decided: to the next one that waits. */

const CARD = "[data-pending-call]";

/**
 * Remember where to go from a place that may be gone soon.
 * @param {Element} place a card, or what holds several
 * @returns {() => void} goes there, unless somebody has gone elsewhere meanwhile
 */
export function nextAfter(place) {
  const cards = [...document.querySelectorAll(CARD)];
  const inside = cards.filter((card) => place.contains(card) || card === place);
  const from = cards.indexOf(inside.at(-1));
  const order = [...cards.slice(from + 1), ...cards.slice(0, from).reverse()].filter((card) => !inside.includes(card));
  return () => {
    const now = document.activeElement;
    if (now !== null && now !== document.body && !place.contains(now)) return;
    const target = order.find((card) => card.isConnected) ?? document.getElementById("main");
    // The card, not its button: Enter pressed twice must not decide two calls.
    target?.focus();
  };
}
