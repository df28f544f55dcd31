const PLACE = Symbol('place');

type Placed<T> = T & { [PLACE]?: number };

/**
 * Who is here, where many come and go: a set that keeps nothing of those who have gone. A `Set` discards its table every few
 * entries, and a discarded table may keep what it held until the engine collects all of its memory. One is in a single roster
 * at a time. Whoever is taken out while they are gone through does not hide another.
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

  /** The last one takes the place. */
  delete(one: Placed<T>): void {
    const place = one[PLACE];
    if (place === undefined || !this.has(one)) return;
    const last = this.all.pop() ?? one;
    if (last === one) return;
    this.all[place] = last;
    last[PLACE] = place;
  }

  /** From the last to the first: who takes the place of another has been gone to already. */
  *[Symbol.iterator](): Iterator<T> {
    for (let place = this.all.length - 1; place >= 0; place--) {
      const one = this.all[place];
      if (one) yield one;
    }
  }
}
