/** Checks that nothing that the client does loses what a person has saved. */
export class Ledger {
  /** Broken promises, in words. */
  readonly violations: string[] = [];
  /** Contents that a person has saved and not overwritten or deleted since. */
  readonly current = new Set<string>();
  private readonly onDisks = new Map<string, number>();
  /** Who has renamed a content. */
  private readonly movers = new Map<string, Set<object>>();
  /** Contents deleted by a person and lost by a server that was restored during a sync: nobody could know. */
  private readonly excused = new Set<string>();
  private history: () => ReadonlySet<string> = () => new Set();

  knows(history: () => ReadonlySet<string>): void {
    this.history = history;
  }

  save(text: string): void {
    this.current.add(text);
  }

  retire(text: string): void {
    this.current.delete(text);
  }

  hold(text: string): void {
    this.onDisks.set(text, (this.onDisks.get(text) ?? 0) + 1);
  }

  release(text: string, by: 'person' | 'client', where: string): void {
    const count = (this.onDisks.get(text) ?? 0) - 1;
    this.onDisks.set(text, count);
    if (by === 'client' && !this.isAlive(text) && !this.excused.has(text))
      this.violations.push(`the client destroyed the last copy of ${text} (${where})`);
  }

  isAlive(text: string): boolean {
    return (this.onDisks.get(text) ?? 0) > 0 || this.history().has(text);
  }

  move(text: string, by: object): void {
    this.movers.set(text, (this.movers.get(text) ?? new Set()).add(by));
  }

  /**
   * Renamed on two devices, perhaps in opposite directions: each deletes the name that the other has chosen.
   * The content is then in the history.
   */
  isMovedApart(text: string): boolean {
    return (this.movers.get(text)?.size ?? 0) > 1 && this.isAlive(text);
  }

  excuse(texts: Iterable<string>): void {
    for (const text of texts) if (!this.current.has(text)) this.excused.add(text);
  }

  /** Forgets contents that are nowhere any more after the server has lost data. */
  writeOff(): void {
    for (const text of this.current) if (!this.isAlive(text)) this.current.delete(text);
  }
}
