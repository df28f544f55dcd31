import { CoalescingRunner } from '../../../src/platform/async.js';

describe('CoalescingRunner', () => {
  let begun: number;
  let finish: ((error?: Error) => void)[];
  let runner: CoalescingRunner;

  beforeEach(() => {
    begun = 0;
    finish = [];
    runner = new CoalescingRunner(() => {
      begun++;
      return new Promise((resolve, reject) => finish.push((error) => (error ? reject(error) : resolve())));
    });
  });

  it('resolves a call after a run that began after the call', async () => {
    const first = runner.run();
    let isDone = false;
    const second = runner.run().then(() => (isDone = true));
    finish[0]?.();
    await first;
    await settled();
    expect([begun, isDone]).toEqual([2, false]);
    finish[1]?.();
    await second;
  });

  it('runs once more for all calls that came during a run', async () => {
    const calls = Array.from({ length: 50 }, () => runner.run());
    finish[0]?.();
    await settled();
    finish[1]?.();
    await Promise.all(calls);
    expect(begun).toBe(2);
  });

  it('never runs twice at once, including for calls that come as a run ends', async () => {
    let running = 0;
    let most = 0;
    const busy = new CoalescingRunner(async () => {
      most = Math.max(most, ++running);
      await settled();
      running--;
    });
    const caller = async (): Promise<void> => {
      for (let i = 0; i < 20; i++) await busy.run();
    };
    await Promise.all(Array.from({ length: 10 }, caller));
    expect(most).toBe(1);
  });

  it('reports a failure to the callers of that run, and goes on', async () => {
    const first = runner.run();
    const second = runner.run();
    finish[0]?.(new Error('away'));
    await expect(first).rejects.toThrow('away');
    await settled();
    finish[1]?.();
    await second;
  });
});

/** Resolves after everything that is ready to run has run. */
function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
