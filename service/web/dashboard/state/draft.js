// @ts-check
/** Changes a frozen-by-convention tree: each object is copied once, when it is first changed; the rest is shared. */

/**
 * One batch of changes. What it gave out as its own may be changed until the batch is over; what it was given may not.
 * @template {object} T
 */
export class Draft {
  /** @type {WeakSet<object>} */
  #own = new WeakSet();
  /** @type {T} */
  #now;

  /** @param {T} start */
  constructor(start) {
    this.#now = start;
  }

  /** What there is now, to be read only: the very object that was given while nothing has changed. */
  get now() {
    return this.#now;
  }

  /** The root, to be changed. */
  get root() {
    this.#now = this.#owned(this.#now);
    return this.#now;
  }

  /**
   * Take note that an object was just made, so it needs no copy.
   * @template {object} V
   * @param {V} value
   * @returns {V}
   */
  made(value) {
    this.#own.add(value);
    return value;
  }

  /**
   * Give what stands at a place of an own object, to be changed.
   * @template {object} P
   * @template {keyof P} K
   * @param {P} parent
   * @param {K} key
   * @returns {NonNullable<P[K]> & object}
   */
  within(parent, key) {
    const value = this.#owned(/** @type {any} */ (parent[key]));
    parent[key] = value;
    return value;
  }

  /**
   * @template {object} V
   * @param {V} value
   * @returns {V}
   */
  #owned(value) {
    if (this.#own.has(value)) return value;
    return this.made(/** @type {V} */ (Array.isArray(value) ? value.slice() : { ...value }));
  }
}
