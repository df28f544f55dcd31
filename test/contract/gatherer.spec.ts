import { setImmediate as nextTurn } from 'node:timers/promises';
import { Gatherer } from '../../src/platform/async/index.js';

const MOST = 10;

describe('Gatherer', () => {
  let answered: string[][];
  let gatherer: Gatherer<string, string>;

  beforeEach(() => {
    answered = [];
    gatherer = new Gatherer(MOST, (asks) => {
      answered.push([...asks]);
      return Promise.resolve(asks.map((ask) => `answer to ${ask}`));
    });
  });

  it('answers what is asked for in the same turn in two halves, each ask with its own answer', async () => {
    const answers = await Promise.all(['a', 'b', 'c', 'd'].map((ask) => gatherer.ask('key', ask)));
    expect(answers).toEqual(['answer to a', 'answer to b', 'answer to c', 'answer to d']);
    expect(answered).toEqual([
      ['a', 'b'],
      ['c', 'd'],
    ]);
  });

  it('puts no more together than half of what is not answered, and forgets what is', async () => {
    const finish: (() => void)[] = [];
    const groups: (readonly string[])[] = [];
    const slow = new Gatherer<string, string>(MOST, async (asks) => {
      groups.push(asks);
      await new Promise<void>((resolve) => finish.push(resolve));
      return asks;
    });
    const early = ['a', 'b', 'c'].map((ask) => slow.ask('key', ask));
    await nextTurn();
    const late = ['d', 'e', 'f'].map((ask) => slow.ask('key', ask));
    await nextTurn();
    expect(groups.splice(0)).toEqual([['a', 'b'], ['c'], ['d', 'e', 'f']]);
    for (const answer of finish.splice(0)) answer();
    await Promise.all([...early, ...late]);
    const last = ['g', 'h'].map((ask) => slow.ask('key', ask));
    await nextTurn();
    expect(groups).toEqual([['g'], ['h']]);
    for (const answer of finish) answer();
    await Promise.all(last);
  });

  it('answers what comes in the next turn apart, also while the first is being answered', async () => {
    let finish: (() => void) | undefined;
    const asks: (readonly string[])[] = [];
    const slow = new Gatherer<string, string>(MOST, async (some) => {
      asks.push(some);
      if (asks.length === 1) await new Promise<void>((resolve) => (finish = resolve));
      return some;
    });
    const first = slow.ask('key', 'first');
    await nextTurn();
    expect(await slow.ask('key', 'second')).toBe('second');
    finish?.();
    expect(await first).toBe('first');
    expect(asks).toEqual([['first'], ['second']]);
  });

  it('keeps apart what has different keys', async () => {
    const asks = [
      ['one', 'a'],
      ['other', 'b'],
      ['one', 'c'],
      ['other', 'd'],
      ['one', 'e'],
    ] as const;
    await Promise.all(asks.map(([key, ask]) => gatherer.ask(key, ask)));
    expect(answered).toEqual([['a', 'c'], ['e'], ['b'], ['d']]);
  });

  it('puts no more together than may be, and what is heavier alone', async () => {
    const weights = { a: 4, b: 6, c: 1, d: 10, e: 25, f: 9, g: 1, h: 1 };
    await Promise.all(Object.entries(weights).map(([ask, weight]) => gatherer.ask('key', ask, weight)));
    expect(answered).toEqual([['a', 'b'], ['c'], ['d'], ['e'], ['f', 'g'], ['h']]);
  });

  it('tells all of them when they cannot be answered, and nobody else', async () => {
    const broken = new Gatherer<string, string>(MOST, ([first]) =>
      first === 'a' ? Promise.reject(new Error('broken')) : Promise.resolve(['fine']),
    );
    const asks = ['a', 'b', 'c'].map((ask) => broken.ask('key', ask));
    expect((await Promise.allSettled(asks)).map(({ status }) => status)).toEqual([
      'rejected',
      'rejected',
      'fulfilled',
    ]);
    await expect(broken.ask('key', 'd')).resolves.toBe('fine');
  });
});
