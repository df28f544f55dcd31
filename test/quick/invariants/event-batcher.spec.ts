import { EventBatcher } from '../../../src/platform/events/event-bus.js';
import type { Log } from '../../../src/platform/log.js';

const event = (key: string) => ({ topic: 'changes', key });

/** Lets promises settle before any timer fires, however slow the machine. */
async function promisesSettle(): Promise<void> {
  for (let i = 0; i < 100; i++) await Promise.resolve();
}

describe('events to the other instances', () => {
  const sent: string[][] = [];
  const reader = new EventBatcher(() => Promise.resolve(), {} as Log);
  let deliver = (): void => undefined;
  const batcher = new EventBatcher((payload) => {
    sent.push(reader.read(payload).map(({ key }) => key));
    return new Promise<void>((resolve) => (deliver = resolve));
  }, {} as Log);

  it('are sent at once when none was sent before, and together when they follow soon after', async () => {
    batcher.add(event('first'));
    expect(sent).toEqual([['first']]);
    batcher.add(event('second')); // while the first is on its way
    deliver();
    for (const key of ['third', 'second', 'fourth']) {
      await promisesSettle();
      batcher.add(event(key));
    }
    expect(sent).toEqual([['first']]);
    const closed = batcher.close(); // does not wait for the rest of the 10 ms, and leaves nothing behind
    await promisesSettle();
    expect(sent).toEqual([['first'], ['second', 'third', 'fourth']]);
    deliver();
    await closed;
  });

  /** Sends without pauses: one event, and another one when that many promises have settled. */
  async function sentOneAfterAnother(promises: number): Promise<{ busy: EventBatcher; told: string[] }> {
    const told: string[] = [];
    const busy = new EventBatcher((payload) => {
      told.push(...reader.read(payload).map(({ key }) => key));
      return Promise.resolve();
    }, {} as Log);
    Object.assign(busy, { pause: () => Promise.resolve() });
    busy.add(event('first'));
    for (let i = 0; i < promises; i++) await Promise.resolve();
    busy.add(event('second'));
    return { busy, told };
  }

  it.each(Array.from({ length: 30 }, (_, n) => n))(
    'are not lost when they are added as a message is being sent, %i promises later',
    async (promises) => {
      const { busy, told } = await sentOneAfterAnother(promises);
      await promisesSettle();
      expect(told).toEqual(['first', 'second']);
      await busy.close();
    },
  );

  it.each(Array.from({ length: 30 }, (_, n) => n))(
    'are sent when they are added right before the batcher closes, %i promises after a message',
    async (promises) => {
      const { busy, told } = await sentOneAfterAnother(promises);
      await busy.close();
      expect(told).toEqual(['first', 'second']);
    },
  );

  it('are not sent once the batcher is closed', async () => {
    batcher.add(event('late'));
    await batcher.close();
    expect(sent).toHaveLength(2);
  });
});
