interface Waiting<Ask, Answer> {
  readonly ask: Ask;
  readonly weight: number;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Batches requests from the same iteration of the event loop: under load, requests arrive together, and a round trip to the
 * database costs more than most of the queries. A group holds about half of all outstanding requests: while one half is read,
 * the callers of the other half get their answers and ask again. With one group for all, service and database would wait for
 * each other.
 */
export class BatchLoader<Ask, Answer> {
  /** Requests of this iteration, by key. Arrays are emptied once answered: the map's discarded tables must not retain answers. */
  private readonly gathering = new Map<string, Waiting<Ask, Answer>[]>();
  /** Total weight of all requests without an answer. */
  private outstanding = 0;

  /**
   * @param most maximum weight of a group, except for a single request that is heavier by itself
   * @param answer returns answers in the order of the requests; if it throws, every request of the group fails with that error
   */
  constructor(
    private readonly most: number,
    private readonly answer: (asks: readonly Ask[]) => Promise<readonly Answer[]>,
  ) {}

  /**
   * @param key requests with the same key may be answered together
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

  /** Takes the prefix of the line whose weight is closest to `enough`, up to `most`. */
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
