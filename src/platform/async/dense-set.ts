const PLACE = Symbol('place');

type Placed<T> = T & { [PLACE]?: number };

/**
 * A set for objects that come and go often; it never retains removed ones. A `Set` discards its table every few entries, and a
 * discarded table may retain its contents until a major garbage collection. An object can be in only one such set at a time.
 * Removing an object during iteration does not skip another.
 */
export class DenseSet<T extends object> implements Iterable<T> {
  private readonly all: Placed<T>[] = [];

  get size(): number {
    return this.all.length;
  }

  has(one: Placed<T>): boolean {
    return this.all[one[PLACE] ?? -1] === one;
  }

  add(one: Placed<T>): void {
    if (!this.has(one)) one[PLACE] = this.all.push(one) - 1;
  }

  /** The last object moves into the free place. */
  delete(one: Placed<T>): void {
    const place = one[PLACE];
    if (place === undefined || !this.has(one)) return;
    const last = this.all.pop() ?? one;
    if (last === one) return;
    this.all[place] = last;
    last[PLACE] = place;
  }

  /** Iterates backwards: an object that moves into a free place has been visited already. */
  *[Symbol.iterator](): Iterator<T> {
    for (let place = this.all.length - 1; place >= 0; place--) {
      const one = this.all[place];
      if (one) yield one;
    }
  }
}
