/** Counts active work by key, and in total. Keys with a count of zero are removed. */
export class KeyedCounter {
  private readonly counts = new Map<string, number>();
  private sum = 0;

  /** The sum over all keys. */
  get total(): number {
    return this.sum;
  }

  /** How many keys have a count above zero. */
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

  /** @throws Error when the count is zero: more work ended than began */
  decrement(key: string): void {
    const count = this.of(key);
    if (count === 0) throw new Error('a counter was decremented below zero');
    if (count === 1) this.counts.delete(key);
    else this.counts.set(key, count - 1);
    this.sum--;
  }

  /** The keys with a count above zero, and their counts. */
  entries(): IterableIterator<[string, number]> {
    return this.counts.entries();
  }
}
