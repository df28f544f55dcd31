import fc from 'fast-check';
import { ServiceUnavailable } from '../../../src/platform/http/index.js';
import { type FairLimits, FairSemaphore } from '../../../src/platform/limits/index.js';

const LIMITS: FairLimits = {
  atOnce: 1,
  waiting: 100,
  perOwner: { atOnce: 1, waiting: 50 },
  waitMs: 60_000,
  busy: 'too many',
};

const semaphore = (limits: Partial<FairLimits> = {}): FairSemaphore =>
  new FairSemaphore({ ...LIMITS, ...limits });

/** Lets every promise settle that can. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** The result of a call that must not wait: it fails a test instead of blocking it. */
const atOnce = (call: Promise<unknown>): Promise<unknown> => Promise.race([call, settled()]);

/** Calls of a semaphore and the order in which they got their slots. */
class Calls {
  readonly started: string[] = [];
  private readonly releases = new Map<string, () => void>();

  constructor(private readonly slots: FairSemaphore) {}

  /** @param call an owner and a number, such as `a1` */
  ask(call: string, gone?: AbortSignal): Promise<void> {
    return this.slots.take(call.replace(/\d+$/, ''), gone).then((release) => {
      this.started.push(call);
      this.releases.set(call, release);
    });
  }

  async end(call: string): Promise<void> {
    this.releases.get(call)?.();
    this.releases.delete(call);
    await settled();
  }

  /** Ends what runs, oldest first, until nothing runs any more. */
  async endAll(): Promise<void> {
    for (let [call] = this.releases.keys(); call !== undefined; [call] = this.releases.keys())
      await this.end(call);
  }

  get running(): string[] {
    return [...this.releases.keys()];
  }
}

describe('slots', () => {
  it('go round robin between owners, each time to the oldest call of an owner', async () => {
    const calls = new Calls(semaphore());
    const asked = ['a1', 'a2', 'a3', 'a4', 'b1', 'b2', 'c1'].map((call) => calls.ask(call));
    await settled();
    await calls.endAll();
    await Promise.all(asked);
    expect(calls.started).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'a3', 'a4']);
  });

  it('go first to an owner without one, however many calls of another owner wait', async () => {
    const calls = new Calls(semaphore({ atOnce: 2, perOwner: { atOnce: 2, waiting: 50 } }));
    for (let n = 1; n <= 40; n++) void calls.ask(`a${n}`);
    await settled();
    void calls.ask('b1');
    await calls.end('a2');
    expect(calls.started).toEqual(['a1', 'a2', 'b1']);
    await calls.endAll();
  });

  it('go to earlier callers although new owners keep coming', async () => {
    const calls = new Calls(semaphore());
    void calls.ask('a1');
    void calls.ask('a2');
    void calls.ask('b1');
    await settled();
    await calls.end('a1'); // b1 runs
    void calls.ask('c1');
    await calls.end('b1');
    expect(calls.started).toEqual(['a1', 'b1', 'a2']);
    await calls.endAll();
  });

  it('are limited for each owner, however many are free', async () => {
    const slots = semaphore({ atOnce: 4, perOwner: { atOnce: 3, waiting: 50 } });
    const calls = new Calls(slots);
    for (let n = 1; n <= 5; n++) void calls.ask(`a${n}`);
    await settled();
    expect(calls.running).toEqual(['a1', 'a2', 'a3']);
    await calls.ask('b1');
    void calls.ask('c1');
    await calls.end('b1');
    expect(calls.running).toEqual(['a1', 'a2', 'a3', 'c1']);
    await calls.endAll();
  });

  it('are released once, even when release is called twice, and after a fault too', async () => {
    const slots = semaphore();
    const release = await slots.take('a');
    const second = slots.take('b');
    const third = slots.take('c');
    release();
    release();
    await second;
    await settled();
    expect([slots.taken, slots.queued]).toEqual([1, 1]);
    (await second)();
    (await third)();
    const fault = new Error('a fault');
    await expect(slots.during('a', () => Promise.reject(fault))).rejects.toBe(fault);
    expect(await slots.during('a', () => Promise.resolve('done'))).toBe('done');
    expect([slots.taken, slots.queued, slots.owners]).toEqual([0, 0, 0]);
  });
});

describe('a call is refused with 503 and Retry-After', () => {
  const refused = (error: string) => ({ status: 503, message: error, headers: { 'retry-after': '5' } });

  it('above the limit of its owner, with that reason; calls of other owners wait', async () => {
    const slots = semaphore({ perOwner: { atOnce: 1, waiting: 2 } });
    const calls = new Calls(slots);
    const asked = ['a1', 'a2', 'a3'].map((call) => calls.ask(call));
    await expect(atOnce(slots.take('a'))).rejects.toMatchObject(
      refused('too many: wait for your own requests to finish'),
    );
    const other = calls.ask('b1');
    await settled();
    await calls.endAll();
    await Promise.all([...asked, other]);
    expect(calls.started).toEqual(['a1', 'b1', 'a2', 'a3']);
  });

  it('above the limit of all, or the newest one of an owner with more calls waiting instead', async () => {
    const slots = semaphore({ waiting: 3 });
    const calls = new Calls(slots);
    const [a1, a2, a3, a4] = ['a1', 'a2', 'a3', 'a4'].map((call) => calls.ask(call));
    const b1 = calls.ask('b1');
    await expect(atOnce(a4!)).rejects.toMatchObject(
      refused('too many: wait for your own requests to finish'),
    );
    await expect(atOnce(slots.take('b'))).rejects.toMatchObject(refused('too many')); // a has two too
    const c1 = calls.ask('c1');
    await expect(atOnce(a3!)).rejects.toThrow(ServiceUnavailable);
    await expect(atOnce(slots.take('d'))).rejects.toMatchObject(refused('too many')); // each has one waiting
    await calls.endAll();
    await Promise.all([a1, a2, b1, c1]);
    expect(calls.started).toEqual(['a1', 'b1', 'c1', 'a2']);
    expect([slots.taken, slots.queued, slots.owners]).toEqual([0, 0, 0]);
  });

  it('after it has waited for too long', async () => {
    const slots = semaphore({ waitMs: 1 });
    const release = await slots.take('a');
    await expect(slots.take('b')).rejects.toMatchObject(refused('too many'));
    expect(slots.owners).toBe(1);
    release();
    (await slots.take('b'))();
  });
});

describe('a cancelled call', () => {
  it('leaves the queue, and is rejected with the reason', async () => {
    const slots = semaphore();
    const calls = new Calls(slots);
    const reason = new Error('gone');
    const leaving = new AbortController();
    await calls.ask('a1');
    const b1 = calls.ask('b1', leaving.signal);
    const c1 = calls.ask('c1');
    leaving.abort(reason);
    await expect(b1).rejects.toBe(reason);
    expect([slots.queued, slots.owners]).toEqual([1, 2]);
    await expect(slots.take('b', leaving.signal)).rejects.toBe(reason);
    await calls.end('a1');
    await c1;
    leaving.abort(); // has no effect any more
    await calls.endAll();
    expect([slots.taken, slots.queued, slots.owners]).toEqual([0, 0, 0]);
  });
});

describe('slots, after any order of calls, ends and cancellations,', () => {
  const owner = fc.constantFrom('a', 'b', 'c', 'd');
  const step = fc.oneof(
    { weight: 4, arbitrary: fc.record({ ask: owner }) },
    { weight: 3, arbitrary: fc.record({ end: fc.nat() }) },
    { weight: 1, arbitrary: fc.record({ leave: fc.nat() }) },
  );
  const limits = fc.record({
    atOnce: fc.integer({ min: 1, max: 3 }),
    waiting: fc.integer({ min: 0, max: 6 }),
    perOwner: fc.record({
      atOnce: fc.integer({ min: 1, max: 3 }),
      waiting: fc.integer({ min: 0, max: 4 }),
    }),
  });

  it('respect the limits, are not idle while a call may have one, and forget owners in the end', async () => {
    await fc.assert(
      fc.asyncProperty(limits, fc.array(step, { maxLength: 40 }), async (bounds, steps) => {
        const slots = semaphore(bounds);
        const running: { owner: string; release: () => void }[] = [];
        const waiting = new Map<AbortController, string>();
        const count = (of: string): number => running.filter(({ owner: one }) => one === of).length;
        for (const one of steps) {
          if ('ask' in one) {
            const leaving = new AbortController();
            waiting.set(leaving, one.ask);
            void slots
              .take(one.ask, leaving.signal)
              .then((release) => running.push({ owner: one.ask, release }))
              .catch(() => undefined) // refused or cancelled
              .finally(() => waiting.delete(leaving));
          } else if ('end' in one) running.splice(one.end % (running.length || 1), 1)[0]?.release();
          else [...waiting.keys()][one.leave % (waiting.size || 1)]?.abort();
          await settled();
          expect([slots.taken, slots.queued]).toEqual([running.length, waiting.size]);
          expect(running.length).toBeLessThanOrEqual(bounds.atOnce);
          expect(waiting.size).toBeLessThanOrEqual(bounds.waiting);
          for (const [, of] of waiting)
            expect([of, running.length < bounds.atOnce && count(of) < bounds.perOwner.atOnce]).toEqual([
              of,
              false,
            ]);
          for (const of of 'abcd') expect(count(of)).toBeLessThanOrEqual(bounds.perOwner.atOnce);
        }
        while (running.length > 0) {
          running.shift()?.release();
          await settled();
        }
        expect([slots.taken, slots.queued, slots.owners]).toEqual([0, 0, 0]);
      }),
      { numRuns: 300, seed: 20261126 },
    );
  });
});
