/** Whoever has waited so long goes all the same: those at work are slow. */
const PATIENCE_MS = 50;

/**
 * Lets so many work at once. The others wait in line, but not for long: that spares a machine, and is no limit to rely on.
 * What one has done is told after the next has been sent, where a connection is idle: the database is then at work while the
 * answer is used.
 */
export class Turns {
  private taken = 0;
  private readonly line: (() => void)[] = [];

  constructor(
    private readonly atOnce: number,
    private readonly patienceMs = PATIENCE_MS,
  ) {}

  get waiting(): number {
    return this.line.length;
  }

  async during<T>(work: () => Promise<T>): Promise<T> {
    if (this.taken < this.atOnce) this.taken++;
    else await this.turn();
    try {
      return await work();
    } finally {
      this.taken--;
      if (this.callNext()) await untilSent();
    }
  }

  private turn(): Promise<void> {
    return new Promise((resolve) => {
      let since: number;
      let impatience: NodeJS.Timeout;
      const go = (): void => {
        clearTimeout(impatience);
        this.line.splice(this.line.indexOf(go), 1);
        this.taken++;
        resolve();
      };
      // After a pause of the process the timers of all come due before it has read a single answer.
      const goUnlessPaused = (): void => {
        if (performance.now() - since < 2 * this.patienceMs) go();
        else wait();
      };
      const wait = (): void => {
        since = performance.now();
        impatience = setTimeout(goUnlessPaused, this.patienceMs);
      };
      wait();
      this.line.push(go);
    });
  }

  private callNext(): boolean {
    const [next] = this.line;
    if (!next || this.taken >= this.atOnce) return false;
    next();
    return true;
  }
}

/** The pool sends a statement in a tick of its own. Between such ticks no promise goes on. */
const untilSent = (): Promise<void> => new Promise((resolve) => process.nextTick(resolve));
