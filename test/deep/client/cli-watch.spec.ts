import { readdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Machine, type WatchEvent } from '../../kit/command-line.js';
import { running, watching, end, carried, useWatchedMachines } from '../../kit/watched-machines.js';

describe('watch', () => {
  const machines = useWatchedMachines();

  it('carries edits both ways, and a deletion', async () => {
    const { one, two } = await machines.pair();
    const [first, second] = [await watching(one), await watching(two)];
    one.write('deep/er/plan.md', 'a plan');
    await second.until(carried('downloaded', 'deep/er/plan.md'));
    expect(two.files()).toEqual({ 'deep/er/plan.md': 'a plan' });
    two.write('deep/er/plan.md', 'a better plan');
    await first.until(carried('downloaded', 'deep/er/plan.md'));
    expect(one.files()).toEqual({ 'deep/er/plan.md': 'a better plan' });
    one.remove('deep/er/plan.md');
    await second.until(carried('removedHere', 'deep/er/plan.md'));
    expect(two.files()).toEqual({});
    const [begin] = first.events;
    expect(begin).toMatchObject({
      event: 'started',
      folder: one.folder,
      device: 'one',
      at: expect.any(String),
    });
    expect(await end(first)).toEqual({ code: 0, signal: null });
    expect(first.events.at(-1)).toMatchObject({ event: 'ended', reason: 'signal', exitCode: 0 });
    expect(await end(second, 'SIGINT')).toEqual({ code: 0, signal: null });
    expect(readdirSync(one.state)).not.toContain('lock');
  });

  it('scans at intervals, and is not kept busy by its own writes', async () => {
    const { one, two } = await machines.pair();
    two.write('a.md', 'a');
    await two.run(['sync', two.folder]);
    const watch = await watching(one, '--interval', '2');
    await watch.until(carried('downloaded', 'a.md'));
    const before = watch.mark;
    const isInterval = ({ reasons }: WatchEvent): boolean => reasons?.includes('interval') === true;
    await watch.until(isInterval, watch.events.indexOf(await watch.until(isInterval, before)) + 1);
    const syncs = watch.events.slice(before).filter(({ event }) => event === 'synced');
    expect(syncs.filter((event) => !isInterval(event)).length).toBeLessThan(4);
  });

  it('refuses a second process on the folder, but allows status and dry runs', async () => {
    const { one } = await machines.pair();
    const watch = await watching(one);
    for (const args of [
      ['sync', one.folder],
      ['watch', one.folder],
      ['sign-out', one.folder],
    ]) {
      const refused = await one.run(args);
      expect([refused.code, refused.stderr]).toEqual([
        6,
        expect.stringContaining(
          `another client (process ${watch.child.pid}) syncs this folder: stop it first`,
        ),
      ]);
    }
    expect(await one.json(['status', one.folder])).toMatchObject({ code: 0, process: watch.child.pid });
    expect(await one.run(['sync', one.folder, '--dry-run'])).toMatchObject({ code: 0 });
  });

  it('holds back many deletions, and syncs the rest', async () => {
    const { one, two } = await machines.pair();
    for (let index = 0; index < 30; index++) one.write(`n/${index}.md`, `${index}`);
    const watch = await watching(one);
    await watch.until(({ event, files }) => event === 'synced' && files === 30);
    await two.run(['sync', two.folder]);
    const before = watch.mark;
    renameSync(join(one.folder, 'n'), join(one.home, 'elsewhere'));
    const asked = await watch.until(({ event }) => event === 'confirmation-needed', before);
    expect(asked).toMatchObject({ direction: 'on the server', count: 30, of: 30 });
    one.write('new.md', 'new');
    await watch.until(carried('uploaded', 'new.md'), before);
    expect(await two.json(['sync', two.folder])).toMatchObject({ code: 0, files: 31, removedHere: [] });
    expect(watch.events.filter(({ event }) => event === 'confirmation-needed')).toHaveLength(1);
  });

  it('applies changed ignore rules', async () => {
    const { one } = await machines.pair();
    const watch = await watching(one);
    one.write('.cloudsyncignore', 'build/\n');
    await watch.until(carried('uploaded', '.cloudsyncignore'));
    one.write('build/out.bin', 'x');
    one.write('kept.md', 'kept');
    const synced = await watch.until(carried('uploaded', 'kept.md'));
    expect(synced.uploaded).toEqual(['kept.md']);
  });

  it('exits with 5 when its token is revoked', async () => {
    const { one } = await machines.pair();
    const { body } = await machines.user.post('/api/v1/auth/tokens').send({ name: 'watch' }).expect(201);
    const config = join(one.state, 'credentials.json');
    writeFileSync(config, JSON.stringify({ accessToken: body.token }));
    const stored = new Machine(one.home, {});
    const watch = await watching(stored);
    await machines.user.delete(`/api/v1/auth/tokens/${body.id}`).expect(200);
    one.write('a.md', 'a');
    const ended = await watch.until(({ event }) => event === 'ended');
    expect(ended).toMatchObject({ exitCode: 5 });
    running.delete(watch);
    expect(await watch.over()).toMatchObject({ code: 5 });
  });

  it('stops for a missing folder, and continues when it is back', async () => {
    const { one } = await machines.pair();
    one.write('a.md', 'a');
    const watch = await watching(one, '--interval', '1');
    await watch.until(carried('uploaded', 'a.md'));
    const away = join(one.home, 'unmounted');
    renameSync(one.folder, away);
    await watch.until(({ event, stopped }) => event === 'stopped' && stopped !== null);
    renameSync(away, one.folder);
    const before = watch.mark;
    await watch.until(({ event }) => event === 'synced', before);
    one.write('b.md', 'b');
    await watch.until(carried('uploaded', 'b.md'), before);
    expect(watch.events.flatMap((event) => event.deletedThere ?? [])).toEqual([]);
  });
});
