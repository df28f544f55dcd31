/** Whoever has waited so long goes all the same: those at work are slow, or wait for a lock. */
const PATIENCE_MS = 50;

/** Lets so many work at once. The others wait in line, but not for long: that spares a machine, and is no limit to rely on. */
export class Turns {
  private taken = 0;
  private readonly line = new Set<() => void>();

  constructor(
    private readonly atOnce: number,
    private readonly patienceMs = PATIENCE_MS,
  ) {}

  async during<T>(work: () => Promise<T>): Promise<T> {
    if (this.taken < this.atOnce) this.taken++;
    else await this.turn();
    try {
      return await work();
    } finally {
      this.taken--;
      this.callNext();
    }
  }

  private turn(): Promise<void> {
    return new Promise((resolve) => {
      const go = (): void => {
        clearTimeout(impatience);
        this.line.delete(go);
        this.taken++;
        resolve();
      };
      const impatience = setTimeout(go, this.patienceMs);
      this.line.add(go);
    });
  }

  private callNext(): void {
    const [next] = this.line;
    if (this.taken < this.atOnce) next?.();
  }
}
