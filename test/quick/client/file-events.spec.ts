import { getEventListeners } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FileEvents } from '../../../client/src/cli/watch/file-events.js';
import { Rules } from '../../../client/src/folder/index.js';

/** The number of inotify watches of this process. */
function watches(): number {
  const infos = readdirSync('/proc/self/fdinfo').map((name) => {
    try {
      return readFileSync(join('/proc/self/fdinfo', name), 'utf8');
    } catch {
      return ''; // the descriptor of the listing itself
    }
  });
  return infos.flatMap((info) => info.match(/^inotify /gm) ?? []).length;
}

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'file-events-'));
  for (const name of ['a', 'b', 'c']) mkdirSync(join(root, name));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const eventsOf = (rules: () => Promise<Rules | undefined>): FileEvents =>
  new FileEvents({ root, rules, onChange: () => undefined, onProblem: () => undefined });

describe('the watchers of a folder', () => {
  it('exist once, however many restarts overlap', async () => {
    const before = watches();
    const events = eventsOf(() => Promise.resolve(new Rules('')));
    await events.start();
    const once = watches();
    expect(once).toBeGreaterThan(before);
    await Promise.all([events.restart(), events.restart(), events.restart()]);
    expect(watches()).toBe(once);
    await events.close();
    expect(watches()).toBe(before);
  });

  it('are removed by a close during a restart', async () => {
    const before = watches();
    let letRead: (rules: Rules) => void = () => undefined;
    const reading = new Promise<Rules>((resolve) => (letRead = resolve));
    let isFirst = true;
    const events = eventsOf(() => {
      if (!isFirst) return reading;
      isFirst = false;
      return Promise.resolve(new Rules(''));
    });
    await events.start();
    const restarted = events.restart();
    const closed = events.close();
    letRead(new Rules(''));
    await Promise.all([restarted, closed]);
    expect(watches()).toBe(before);
  });

  it('leave no abort listener behind', async () => {
    const added = jest.spyOn(AbortSignal.prototype, 'addEventListener');
    const events = eventsOf(() => Promise.resolve(new Rules('')));
    await events.start();
    for (let n = 0; n < 3; n++) await events.restart();
    const signals = new Set(added.mock.contexts);
    expect(signals.size).toBe(1);
    expect([...signals].flatMap((signal) => getEventListeners(signal, 'abort'))).toEqual([]);
    await events.close();
  });
});
