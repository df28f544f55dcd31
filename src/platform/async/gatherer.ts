interface Waiting<Ask, Answer> {
  readonly ask: Ask;
  readonly weight: number;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: unknown) => void;
}

interface Line<Ask, Answer> {
  /** Asked for in this turn. */
  readonly waiting: Waiting<Ask, Answer>[];
  /** What all asks weigh that are not answered yet. */
  outstanding: number;
}

/**
 * Answers together what is asked for in the same turn of the event loop: under load requests come together, and a round
 * trip to the database costs more than what most of them ask for. But a group that has half of what is outstanding is
 * full: the database then reads one half while the other is answered and asks again. With all in one group the two would wait for each
 * other.
 */
export class Gatherer<Ask, Answer> {
  private readonly lines = new Map<string, Line<Ask, Answer>>();

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
      const line = this.lines.get(key) ?? { waiting: [], outstanding: 0 };
      this.lines.set(key, line);
      line.outstanding += weight;
      if (line.waiting.push({ ask, weight, resolve, reject }) > 1) return;
      setImmediate(() => {
        const half = line.outstanding / 2;
        while (line.waiting.length > 0) void this.settle(key, line, this.nextGroup(line.waiting, half));
      });
    });
  }

  private nextGroup(waiting: Waiting<Ask, Answer>[], enough: number): Waiting<Ask, Answer>[] {
    let gathered = 0;
    const end = waiting.findIndex(({ weight }, index) => {
      const isFull = index > 0 && (gathered >= enough || gathered + weight > this.most);
      gathered += weight;
      return isFull;
    });
    return waiting.splice(0, end < 0 ? waiting.length : end);
  }

  private async settle(
    key: string,
    line: Line<Ask, Answer>,
    group: readonly Waiting<Ask, Answer>[],
  ): Promise<void> {
    try {
      const answers = await this.answer(group.map(({ ask }) => ask));
      if (answers.length !== group.length)
        throw new Error(`${answers.length} answers to ${group.length} asks`);
      group.forEach(({ resolve }, index) => resolve(answers[index] as Answer));
    } catch (error) {
      for (const { reject } of group) reject(error);
    } finally {
      for (const { weight } of group) line.outstanding -= weight;
      if (line.outstanding === 0) this.lines.delete(key);
    }
  }
}
