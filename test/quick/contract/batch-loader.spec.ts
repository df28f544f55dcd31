import { setImmediate as nextTurn } from 'node:timers/promises';
import { BatchLoader } from '../../../src/platform/async.js';

const BATCH_SIZE = 2;

describe('BatchLoader', () => {
  let batches: string[][];
  let loader: BatchLoader<string, string>;

  beforeEach(() => {
    batches = [];
    loader = new BatchLoader(BATCH_SIZE, (asks) => {
      batches.push([...asks]);
      return Promise.resolve(asks.map((ask) => `answer to ${ask}`));
    });
  });

  it('answers the requests of one event loop iteration in batches, each with its own answer', async () => {
    const answers = await Promise.all(['a', 'b', 'c', 'd', 'e'].map((ask) => loader.load('key', ask)));
    expect(answers).toEqual(['a', 'b', 'c', 'd', 'e'].map((ask) => `answer to ${ask}`));
    expect(batches).toEqual([['a', 'b'], ['c', 'd'], ['e']]);
  });

  it('answers requests of the next iteration separately, even while a batch is in flight', async () => {
    let finish: (() => void) | undefined;
    const asks: (readonly string[])[] = [];
    const slow = new BatchLoader<string, string>(BATCH_SIZE, async (some) => {
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

  it('separates requests with different keys', async () => {
    const asks = [
      ['one', 'a'],
      ['other', 'b'],
      ['one', 'c'],
    ] as const;
    await Promise.all(asks.map(([key, ask]) => loader.load(key, ask)));
    expect(batches).toEqual([['a', 'c'], ['b']]);
  });

  it('fails every request of a batch that gets too few answers', async () => {
    const forgetful = new BatchLoader<string, string>(BATCH_SIZE, (asks) => Promise.resolve(asks.slice(1)));
    const asks = ['a', 'b', 'c', 'd'].map((ask) => forgetful.load('key', ask));
    const reason = new Error('1 answers to 2 asks');
    expect(await Promise.allSettled(asks)).toEqual(asks.map(() => ({ status: 'rejected', reason })));
  });

  it.each([
    [
      'throws',
      (): Promise<string[]> => {
        throw new Error('broken');
      },
    ],
    ['rejects', (): Promise<string[]> => Promise.reject(new Error('broken'))],
  ])('fails the requests of one batch when the answer %s, and answers the others', async (_, fail) => {
    const broken = new BatchLoader<string, string>(BATCH_SIZE, ([first]) =>
      first === 'a' ? fail() : Promise.resolve(['fine']),
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
