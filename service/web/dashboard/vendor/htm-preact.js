// The one module that the dashboard's views import: preact, its hooks, and htm tied to it. Our own.

import { Component, Fragment, createContext, createRef, h, render } from "./preact.js";
import htm from "./htm.js";

export * from "./preact-hooks.js";
export { Component, Fragment, createContext, createRef, h, render };

/** Markup as a template string: html`<${View} rows=${rows} />`. */
export const html = htm.bind(h);

/**
 * Make a component that is drawn anew only when its props changed.
 * `isSame(before, after)` compares them; left out, each prop is compared by identity.
 */
export function memo(View, isSame = haveSameProps) {
  class Memo extends Component {
    shouldComponentUpdate(after) {
      return !isSame(this.props, after);
    }

    render(props) {
      return h(View, props);
    }
  }
  Memo.displayName = `Memo(${View.displayName || View.name})`;
  return Memo;
}

function haveSameProps(before, after) {
  const names = Object.keys(after);
  return names.length === Object.keys(before).length && names.every((name) => name in before && Object.is(before[name], after[name]));
}
