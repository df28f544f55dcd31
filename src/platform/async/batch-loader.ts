interface Waiting<Ask, Answer> {
  readonly ask: Ask;
  readonly weight: number;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Answers together what is asked for in the same turn of the event loop: under load requests come together, and a round
 * trip to the database costs more than what most of them ask for. But about half of all that is not answered yet is enough
 * for a group: one half is then read while those of the other are answered and ask again. With all of it in one group,
 * service and database would wait for each other.
 */
export class BatchLoader<Ask, Answer> {
  /** Asked for in this turn, by key. Emptied when it is answered: a table that the map has discarded must not keep answers. */
  private readonly gathering = new Map<string, Waiting<Ask, Answer>[]>();
  /** What all asks weigh that are not answered yet. */
  private outstanding = 0;

  /**
   * @param most what the asks that are answered together may weigh, but for one that is heavier alone
   * @param answer in the order of the asks; what it throws, each of them is told
   */
  constructor(
    private readonly most: number,
    private readonly answer: (asks: readonly Ask[]) => Promise<readonly Answer[]>,
  ) {}

  /**
   * @param key of what may be answered together
   * @param weight a whole number above 0
   */
  load(key: string, ask: Ask, weight = 1): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const waiting = { ask, weight, resolve, reject };
      this.outstanding += weight;
      const line = this.gathering.get(key);
      if (line) line.push(waiting);
      else this.begin(key, [waiting]);
    });
  }

  private begin(key: string, line: Waiting<Ask, Answer>[]): void {
    this.gathering.set(key, line);
    setImmediate(() => {
      this.gathering.delete(key);
      const enough = this.outstanding / 2;
      while (line.length > 0) void this.settle(this.nextGroup(line, enough));
    });
  }

  /** Takes from the line what comes nearest to `enough`, and no more than may be. */
  private nextGroup(line: Waiting<Ask, Answer>[], enough: number): Waiting<Ask, Answer>[] {
    let gathered = 0;
    const end = line.findIndex(({ weight }, index) => {
      const isFull = gathered + weight > this.most || gathered + weight / 2 > enough;
      gathered += weight;
      return isFull && index > 0;
    });
    return line.splice(0, end < 0 ? line.length : end);
  }

  private async settle(group: readonly Waiting<Ask, Answer>[]): Promise<void> {
    try {
      const answers = await this.answer(group.map(({ ask }) => ask));
      if (answers.length !== group.length)
        throw new Error(`${answers.length} answers to ${group.length} asks`);
      group.forEach(({ resolve }, index) => resolve(answers[index] as Answer));
    } catch (error) {
      for (const { reject } of group) reject(error);
    } finally {
      for (const { weight } of group) this.outstanding -= weight;
    }
  }
}
