import { Random } from '../random.js';

/** The process was killed: nothing that it would do afterwards happens. */
export class Killed extends Error {
  override readonly name = 'Killed';
}

/**
 * The steps of one process: each call of a port is one. It can be killed at any of them, and something else can happen
 * right before any of them.
 */
export class Steps {
  count = 0;
  isKilled = false;
  private readonly events: { at: number; happen: () => void | Promise<void> }[] = [];

  constructor(
    readonly random = new Random(1),
    private readonly killAt = Infinity,
    private readonly killWhen: () => boolean = () => false,
  ) {}

  /** Lets something happen before a step. */
  before(at: number, happen: () => void | Promise<void>): void {
    this.events.push({ at, happen });
    this.events.sort((a, b) => a.at - b.at);
  }

  /** @throws Killed at the step of its death and at all later ones */
  async next(): Promise<void> {
    if (this.isKilled) throw new Killed();
    this.count++;
    while (this.events[0] && this.events[0].at <= this.count) await this.events.shift()?.happen();
    await Promise.resolve();
    if (this.isKilled || this.count >= this.killAt || this.killWhen()) {
      this.isKilled = true;
      throw new Killed();
    }
  }

  /** @returns whether this step is the last one: it may be half done */
  async isLast(): Promise<boolean> {
    try {
      await this.next();
      return false;
    } catch (error) {
      if (error instanceof Killed && this.count === this.killAt) {
        this.count++;
        return true;
      }
      throw error;
    }
  }
}
