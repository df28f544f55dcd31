interface Waiting<Ask, Answer> {
  readonly ask: Ask;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Batches requests from the same iteration of the event loop: under load, requests arrive together, and a round trip to the
 * database costs more than most of the queries.
 */
export class BatchLoader<Ask, Answer> {
  /** Requests of this iteration, by key. Arrays are emptied once answered: the map's discarded tables must not retain answers. */
  private readonly gathering = new Map<string, Waiting<Ask, Answer>[]>();

  /**
   * @param batchSize maximum number of requests in a batch
   * @param answer returns answers in the order of the requests; if it throws, every request of the batch fails with that error
   */
  constructor(
    private readonly batchSize: number,
    private readonly answer: (asks: readonly Ask[]) => Promise<readonly Answer[]>,
  ) {}

  /** @param key requests with the same key may be answered together */
  load(key: string, ask: Ask): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const waiting = { ask, resolve, reject };
      const line = this.gathering.get(key);
      if (line) line.push(waiting);
      else this.begin(key, [waiting]);
    });
  }

  private begin(key: string, line: Waiting<Ask, Answer>[]): void {
    this.gathering.set(key, line);
    setImmediate(() => {
      this.gathering.delete(key);
      while (line.length > 0) void this.settle(line.splice(0, this.batchSize));
    });
  }

  private async settle(batch: readonly Waiting<Ask, Answer>[]): Promise<void> {
    try {
      const answers = await this.answer(batch.map(({ ask }) => ask));
      if (answers.length !== batch.length)
        throw new Error(`${answers.length} answers to ${batch.length} asks`);
      batch.forEach(({ resolve }, index) => resolve(answers[index] as Answer));
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  }
}
