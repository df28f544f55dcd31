/** Counts what is under way by key, and in all. A key whose count returns to zero is forgotten. */
export class KeyedCounter {
  private readonly counts = new Map<string, number>();
  private sum = 0;

  /** The sum over all keys. */
  get total(): number {
    return this.sum;
  }

  /** How many keys have a count. */
  get size(): number {
    return this.counts.size;
  }

  of(key: string): number {
    return this.counts.get(key) ?? 0;
  }

  increment(key: string): void {
    this.counts.set(key, this.of(key) + 1);
    this.sum++;
  }

  /** @throws Error when nothing is counted for the key: more ended than began */
  decrement(key: string): void {
    const count = this.of(key);
    if (count === 0) throw new Error('a counter was decremented below zero');
    if (count === 1) this.counts.delete(key);
    else this.counts.set(key, count - 1);
    this.sum--;
  }

  /** The keys whose count is above zero, with it. */
  entries(): IterableIterator<[string, number]> {
    return this.counts.entries();
  }
}
