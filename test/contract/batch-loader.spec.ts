import { setImmediate as nextTurn } from 'node:timers/promises';
import { BatchLoader } from '../../src/platform/async/index.js';

const MOST = 10;

describe('BatchLoader', () => {
  let answered: string[][];
  let gatherer: BatchLoader<string, string>;

  beforeEach(() => {
    answered = [];
    gatherer = new BatchLoader(MOST, (asks) => {
      answered.push([...asks]);
      return Promise.resolve(asks.map((ask) => `answer to ${ask}`));
    });
  });

  it('answers what is asked for in the same turn in two halves, each ask with its own answer', async () => {
    const answers = await Promise.all(['a', 'b', 'c', 'd'].map((ask) => gatherer.load('key', ask)));
    expect(answers).toEqual(['answer to a', 'answer to b', 'answer to c', 'answer to d']);
    expect(answered).toEqual([
      ['a', 'b'],
      ['c', 'd'],
    ]);
  });

  it('takes half of what is not answered for enough, whoever asked for it', async () => {
    const under: { asks: readonly string[]; finish: () => void }[] = [];
    const slow = new BatchLoader<string, string>(MOST, async (asks) => {
      await new Promise<void>((finish) => under.push({ asks, finish }));
      return asks;
    });
    const ask = async (key: string, asks: readonly string[]): Promise<(readonly string[])[]> => {
      const before = under.length;
      for (const one of asks) answers.push(slow.load(key, one));
      await nextTurn();
      return under.slice(before).map((group) => group.asks);
    };
    const answers: Promise<string>[] = [];
    expect(await ask('key', ['a', 'b', 'c'])).toEqual([['a', 'b'], ['c']]);
    expect(await ask('key', ['d', 'e', 'f'])).toEqual([['d', 'e', 'f']]);
    under[0]?.finish();
    await nextTurn();
    // Four are left, so that two more make six.
    expect(await ask('other', ['g', 'h'])).toEqual([['g', 'h']]);
    for (const { finish } of under) finish();
    await Promise.all(answers);
    expect(await ask('key', ['i', 'j'])).toEqual([['i'], ['j']]);
    for (const { finish } of under) finish();
    await Promise.all(answers);
  });

  it('does not count what could not be answered', async () => {
    const groups: (readonly string[])[] = [];
    const broken = new BatchLoader<string, string>(MOST, (asks) => {
      groups.push(asks);
      throw new Error('broken');
    });
    const fails = async (asks: readonly string[]): Promise<(readonly string[])[]> => {
      const all = await Promise.allSettled(asks.map((one) => broken.load('key', one)));
      expect(all.map(({ status }) => status)).toEqual(asks.map(() => 'rejected'));
      return groups.splice(0);
    };
    expect(await fails(['a', 'b', 'c', 'd', 'e', 'f'])).toEqual([
      ['a', 'b', 'c'],
      ['d', 'e', 'f'],
    ]);
    expect(await fails(['g', 'h'])).toEqual([['g'], ['h']]);
  });

  it('tells all of a group when there are too few answers', async () => {
    const forgetful = new BatchLoader<string, string>(MOST, (asks) => Promise.resolve(asks.slice(1)));
    const asks = ['a', 'b', 'c', 'd'].map((ask) => forgetful.load('key', ask));
    const reason = new Error('1 answers to 2 asks');
    expect(await Promise.allSettled(asks)).toEqual(asks.map(() => ({ status: 'rejected', reason })));
  });

  it('answers what comes in the next turn apart, also while the first is being answered', async () => {
    let finish: (() => void) | undefined;
    const asks: (readonly string[])[] = [];
    const slow = new BatchLoader<string, string>(MOST, async (some) => {
      asks.push(some);
      if (asks.length === 1) await new Promise<void>((resolve) => (finish = resolve));
      return some;
    });
    const first = slow.load('key', 'first');
    await nextTurn();
    expect(await slow.load('key', 'second')).toBe('second');
    finish?.();
    expect(await first).toBe('first');
    expect(asks).toEqual([['first'], ['second']]);
  });

  it('keeps apart what has different keys', async () => {
    const asks = [
      ['one', 'a'],
      ['other', 'b'],
      ['one', 'c'],
    ] as const;
    await Promise.all(asks.map(([key, ask]) => gatherer.load(key, ask)));
    expect(answered).toEqual([['a', 'c'], ['b']]);
  });

  it('puts no more together than may be, and what is heavier alone', async () => {
    const weights = { a: 4, b: 6, c: 1, d: 10, e: 25, f: 9, g: 1, h: 1 };
    await Promise.all(Object.entries(weights).map(([ask, weight]) => gatherer.load('key', ask, weight)));
    expect(answered).toEqual([['a', 'b'], ['c'], ['d'], ['e'], ['f', 'g'], ['h']]);
  });

  it('ends a group before what would take it further beyond half than it is below', async () => {
    const weights = { a: 1, b: 1, c: 8, d: 1 };
    await Promise.all(Object.entries(weights).map(([ask, weight]) => gatherer.load('key', ask, weight)));
    expect(answered).toEqual([['a', 'b'], ['c'], ['d']]);
  });

  it('tells all of them when they cannot be answered, and nobody else', async () => {
    const broken = new BatchLoader<string, string>(MOST, ([first]) =>
      first === 'a' ? Promise.reject(new Error('broken')) : Promise.resolve(['fine']),
    );
    const asks = ['a', 'b', 'c'].map((ask) => broken.load('key', ask));
    expect((await Promise.allSettled(asks)).map(({ status }) => status)).toEqual([
      'rejected',
      'rejected',
      'fulfilled',
    ]);
    await expect(broken.load('key', 'd')).resolves.toBe('fine');
  });
});
