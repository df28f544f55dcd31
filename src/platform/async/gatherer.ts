interface Waiting<Ask, Answer> {
  readonly ask: Ask;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: unknown) => void;
}

interface Gathered<Ask, Answer> {
  /** Empty when they are being answered: a table that the map has discarded must not keep their answers. */
  readonly all: Waiting<Ask, Answer>[];
  weight: number;
}

/**
 * Answers together what is asked for in the same turn of the event loop. Under load requests come together, and a round
 * trip to the database costs more than what most of them ask for.
 */
export class Gatherer<Ask, Answer> {
  private readonly gathering = new Map<string, Gathered<Ask, Answer>>();

  /**
   * @param most what the asks that are answered together may weigh, but for one that is heavier alone
   * @param answer in the order of the asks; what it throws, each of them is told
   */
  constructor(
    private readonly most: number,
    private readonly answer: (asks: readonly Ask[]) => Promise<readonly Answer[]>,
  ) {}

  /** @param key of what may be answered together */
  ask(key: string, ask: Ask, weight = 1): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const waiting = { ask, resolve, reject };
      const gathered = this.gathering.get(key);
      if (gathered && gathered.weight + weight <= this.most) {
        gathered.all.push(waiting);
        gathered.weight += weight;
      } else this.begin(key, { all: [waiting], weight });
    });
  }

  private begin(key: string, fresh: Gathered<Ask, Answer>): void {
    this.gathering.set(key, fresh);
    setImmediate(() => {
      if (this.gathering.get(key) === fresh) this.gathering.delete(key);
      void this.settle(fresh.all.splice(0));
    });
  }

  private async settle(all: readonly Waiting<Ask, Answer>[]): Promise<void> {
    try {
      const answers = await this.answer(all.map(({ ask }) => ask));
      if (answers.length !== all.length) throw new Error(`${answers.length} answers to ${all.length} asks`);
      all.forEach(({ resolve }, index) => resolve(answers[index] as Answer));
    } catch (error) {
      for (const { reject } of all) reject(error);
    }
  }
}
