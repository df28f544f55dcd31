import { appendFileSync, cpSync, mkdirSync, readdirSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '../../../bench/free-port.js';
import { SmallDisk, whyNoDisk } from '../../kit/small-disk.js';
import { BASE_URL, startService } from '../../kit/index.js';
import { running, watching, end, carried, useWatchedMachines } from '../../kit/watched-machines.js';

describe('watch', () => {
  const machines = useWatchedMachines();

  it('continues after a kill during a sync', async () => {
    const { one, two } = await machines.pair();
    for (let index = 0; index < 400; index++) one.write(`n/${index % 9}/${index}.md`, `note ${index}`);
    const killed = one.watch();
    running.add(killed);
    await killed.until(({ event }) => event === 'progress');
    expect(await end(killed, 'SIGKILL')).toEqual({ code: null, signal: 'SIGKILL' });
    expect(killed.events.filter(({ event }) => event === 'synced')).toEqual([]);
    expect(readdirSync(one.state)).toContain('lock');

    const again = await watching(one);
    await again.until(({ event, files }) => event === 'synced' && files === 400);
    const receiving = two.watch();
    running.add(receiving);
    await receiving.until(({ event }) => event === 'progress');
    await end(receiving, 'SIGKILL');
    const second = await watching(two);
    await second.until(({ event, files }) => event === 'synced' && files === 400);
    expect(two.files()).toEqual(one.files());
    const conflicts = [again, second].flatMap(({ events }) =>
      events.flatMap((event) => event.conflicts ?? []),
    );
    expect(conflicts).toEqual([]);
  });

  it('waits for a stopped service, and then uploads what was edited meanwhile', async () => {
    const port = await freePort();
    const first = await startService({ beside: machines.service, port, env: { BASE_URL } });
    const { one, two } = await machines.pair({ SYNC_URL: first.url });
    const [mine, theirs] = [await watching(one), await watching(two)];
    await first.close();
    await mine.until(({ event }) => event === 'disconnected');
    const before = mine.mark;
    one.write('meanwhile.md', 'edited without the service');
    const stopped = await mine.until(({ event }) => event === 'stopped', before);
    expect(stopped).toMatchObject({
      exitCode: 1,
      retryInMs: expect.any(Number),
      stopped: expect.any(String),
    });

    const second = await startService({ beside: machines.service, port, env: { BASE_URL } });
    await theirs.until(carried('downloaded', 'meanwhile.md'));
    expect(two.files()).toEqual({ 'meanwhile.md': 'edited without the service' });
    for (const each of [mine, theirs]) expect(await end(each)).toEqual({ code: 0, signal: null });
    await second.close();
  });

  const noDisk = whyNoDisk();

  (noDisk === undefined ? it : it.skip)(
    'keeps running while the disk of its state is full, and reports it',
    async () => {
      const disk = SmallDisk.mount(1);
      try {
        const machine = join(machines.home, 'one');
        mkdirSync(machine);
        symlinkSync(disk.path, join(machine, 'state'));
        const { one, two } = await machines.pair();
        const watch = await watching(one, '--interval', '1');
        one.write('a.md', 'a');
        await watch.until(carried('uploaded', 'a.md'));
        const filler = join(disk.path, 'filler');
        const full = new Uint8Array(4_096);
        try {
          for (;;) appendFileSync(filler, full);
        } catch (error) {
          expect(error).toMatchObject({ code: 'ENOSPC' });
        }
        const before = watch.mark;
        await watch.until(({ event }) => event === 'problem', before);
        for (let index = 0; index < 200; index++) one.write(`n/${index}.md`, String(index));
        await watch.until(
          ({ event, stopped }) => event === 'stopped' && /disk is full/.test(stopped ?? ''),
          before,
        );
        rmSync(filler);
        await watch.until(({ event, files }) => event === 'synced' && files === 201, before);
        expect(await end(watch)).toMatchObject({ code: 0 });
        expect(await two.json(['sync', two.folder])).toMatchObject({ code: 0, files: 201, conflicts: [] });
        expect(await one.json(['sync', one.folder])).toMatchObject({ code: 0, files: 201, uploaded: [] });
      } finally {
        for (const each of running) await each.end('SIGKILL');
        running.clear();
        disk.unmount();
      }
    },
  );

  it('merges a folder that is replaced by its backup', async () => {
    const { one } = await machines.pair();
    one.write('a.md', 'a');
    const watch = await watching(one, '--interval', '1');
    await watch.until(carried('uploaded', 'a.md'));
    const backup = join(one.home, 'backup');
    cpSync(one.folder, backup, { recursive: true });
    one.write('b.md', 'b');
    await watch.until(carried('uploaded', 'b.md'));
    const before = watch.mark;
    renameSync(one.folder, join(one.home, 'damaged'));
    renameSync(backup, one.folder);
    await watch.until(carried('downloaded', 'b.md'), before);
    expect(one.files()).toEqual({ 'a.md': 'a', 'b.md': 'b' });
    expect(watch.events.flatMap((event) => event.deletedThere ?? [])).toEqual([]);
  });
});
