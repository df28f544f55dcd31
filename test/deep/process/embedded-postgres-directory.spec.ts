import { execFileSync } from 'node:child_process';
import { renameSync } from 'node:fs';
import {
  EmbeddedService,
  freshDataDir,
  isAlive,
  note,
  notes,
  refusal,
  running,
  serve,
  until,
  usedDataDir,
  useEmbeddedServices,
} from '../../kit/embedded-process.js';

useEmbeddedServices();

describe('one data directory', () => {
  it('refuses a second service in one sentence that names the first', async () => {
    const first = await running(await usedDataDir());
    expect(await refusal(serve(first.dataDir))).toBe(
      `The data directory ${first.dataDir} is in use by another running service (pid ${first.child.pid}); stop it, or give this one a DATA_DIR of its own.`,
    );
    await note(first, 'undisturbed');
  });

  it('lets a command find a running database, and none when none runs', async () => {
    const dataDir = await usedDataDir();
    const found = async () => (await new EmbeddedService('find', dataDir).go().event('found')).target;
    expect(await found()).toBeNull();

    const service = await running(dataDir);
    expect(await found()).toEqual((await service.event('ready')).target);
    await service.stop();
    expect(await found()).toBeNull();
  });

  it('starts as after a crash when it is the copy of one in use, without touching the original', async () => {
    const original = await running(await usedDataDir());
    await note(original, 'acknowledged');
    const copy = freshDataDir();
    execFileSync('cp', ['-a', original.dataDir, copy]);
    expect((await new EmbeddedService('find', copy).go().event('found')).target).toBeNull();

    const second = await running(copy);
    expect(second.warnings).toEqual([
      expect.stringContaining('of which this one is a copy; starting as after a crash'),
    ]);
    expect(await notes(second)).toEqual(['acknowledged']);
    await note(second, 'of the copy');
    expect(await second.stop()).toBe(0);
    expect(await notes(original)).toEqual(['acknowledged']);
    expect(original.warnings).toEqual([]);
  });

  (process.platform === 'linux' ? it : it.skip)(
    'starts when it is a copy in place of one in use that was moved away',
    async () => {
      const original = await running(await usedDataDir());
      await note(original, 'acknowledged');
      const { postmaster, dataDir } = original;
      const moved = `${dataDir}-moved`;
      renameSync(dataDir, moved);
      execFileSync('cp', ['-a', moved, dataDir]);

      const second = await running(dataDir);
      expect(second.warnings).toEqual([expect.stringContaining('of which this one is a copy')]);
      expect(await notes(second)).toEqual(['acknowledged']);
      expect(isAlive(postmaster)).toBe(true);
    },
  );

  it('is unaffected by PG* variables', async () => {
    const environment = {
      PGSSLMODE: 'require',
      PGSSLNEGOTIATION: 'direct',
      PGOPTIONS: '-c search_path=nowhere -c default_transaction_read_only=on',
      PGREPLICATION: 'true',
      PGCLIENT_ENCODING: 'LATIN1',
      PGDATA: '/nowhere',
      PGHOST: 'nowhere.invalid',
      PGPORT: '1',
      PGUSER: 'nobody',
      PGPASSWORD: 'wrong',
      PGTZ: 'Asia/Tokyo',
      PGDATABASE: 'nowhere',
      PGSERVICE: 'nowhere',
      PGSSLROOTCERT: '/nowhere',
    };
    const first = await running(freshDataDir(), { environment });
    await note(first, 'written');
    expect(await notes(first)).toEqual(['written']);
    const { target } = await new EmbeddedService('find', first.dataDir, { environment }).go().event('found');
    expect(target).toEqual((await first.event('ready')).target);
    expect(first.warnings).toEqual([]);
  });

  for (const command of ['lock', 'name']) {
    it(`is taken by exactly one of 20 processes (${command}), and by another once it is killed`, async () => {
      const dataDir = command === 'name' ? `cloudsync-test-${process.pid}` : freshDataDir();
      for (const contenders of [20, 1]) {
        const starters = Array.from({ length: contenders }, () => new EmbeddedService(command, dataDir));
        await Promise.all(starters.map((starter) => starter.event('loaded')));
        for (const starter of starters) starter.go();
        const outcome = ({ events }: EmbeddedService) =>
          events.find(({ event }) => event === 'held' || event === 'refused')?.event;
        await until('all outcomes', () => starters.every(outcome));

        const winners = starters.filter((starter) => outcome(starter) === 'held');
        expect(winners).toHaveLength(1);
        await winners[0]!.kill9();
      }
    });
  }
});
