const PLACE = Symbol('place');

type Placed<T> = T & { [PLACE]?: number | undefined };

/**
 * Who is here, where many come and go: a set that keeps nothing of those who have gone. A `Set` discards its table every few
 * entries, and a discarded table may keep what it held until the engine collects all of its memory. One is in a single roster
 * at a time.
 */
export class Roster<T extends object> implements Iterable<T> {
  private readonly places: (Placed<T> | undefined)[] = [];
  private readonly vacant: number[] = [];

  get size(): number {
    return this.places.length - this.vacant.length;
  }

  has(one: Placed<T>): boolean {
    return one[PLACE] !== undefined;
  }

  add(one: Placed<T>): void {
    if (this.has(one)) return;
    const place = this.vacant.pop() ?? this.places.length;
    this.places[place] = one;
    one[PLACE] = place;
  }

  delete(one: Placed<T>): void {
    const place = one[PLACE];
    if (place === undefined) return;
    one[PLACE] = undefined;
    this.places[place] = undefined;
    this.vacant.push(place);
  }

  *[Symbol.iterator](): Iterator<T> {
    for (const one of this.places) if (one) yield one;
  }
}
