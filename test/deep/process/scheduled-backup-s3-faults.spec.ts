import { diskSpace } from '../../../src/platform/storage/index.js';
import { PATIENCE } from '../../../src/platform/storage/s3/s3-connection.js';
import type { ProxiedRequest } from '../../kit/fault-proxy.js';
import { describeWithTestServers } from '../../kit/s3.js';
import { OLD, NEW, useBackupsInS3 } from '../../kit/scheduled-backups-s3.js';

describeWithTestServers('scheduled backups in S3', () => {
  const scheduled = useBackupsInS3();

  /** The report or the error of a run. */
  const told = (): Promise<string> =>
    scheduled.admin('backup', 'run').then(
      ({ text }) => text,
      (error: unknown) => (error as Error).message,
    );

  it('survive lost responses, refused requests and short outages of the store', async () => {
    const faults = [
      { kind: 'cut after sending' },
      { kind: 'reset' },
      { kind: 'answer', status: 503, code: 'SlowDown' },
    ] as const;
    const seen = new Map<string, number>();
    const isMet = ({ method, path }: ProxiedRequest): boolean =>
      /\/(?:begun|manifest\.json|verified)$|\/tables\/users|\/blobs\//.test(path) && method !== 'HEAD';
    scheduled.proxy.set((request) => {
      if (!isMet(request)) return undefined;
      const key = `${request.method} ${request.path.replace(/uploadId=[^&]*/, '')}`;
      const times = seen.get(key) ?? 0;
      seen.set(key, times + 1);
      return times === 0 ? faults[seen.size % faults.length] : undefined;
    });
    expect(await told()).toMatch(/^Made a verified backup/);
    expect(await scheduled.states()).toEqual([[NEW, 'verified']]);
    expect([...seen.values()].filter((times) => times > 1).length).toBeGreaterThan(5);
  });

  it('are not removed while the store does not return their manifests', async () => {
    await scheduled.plant(...OLD);
    PATIENCE.ms = 0;
    scheduled.proxy.set(({ path }) =>
      path.endsWith('/manifest.json') ? { kind: 'answer', status: 503, code: 'SlowDown' } : undefined,
    );
    await expect(scheduled.admin('backup', 'run')).rejects.toThrow('does not answer (HTTP 503)');
    expect(
      scheduled.proxy.requests.filter(
        ({ method, path }) => method === 'DELETE' && path.includes(scheduled.bucket),
      ),
    ).toEqual([]);
    expect(await scheduled.states()).toEqual(OLD.map((name) => [name, 'verified']));
  });

  it('without disk space for their trial are kept unverified', async () => {
    const [earlier] = OLD;
    await scheduled.plant(earlier);
    await scheduled.objects().remove(`${earlier}/verified`);
    const { total } = await diskSpace(scheduled.home);
    scheduled.env.MIN_FREE_BYTES = String(total);
    expect(await told()).toMatch(
      /^The backup is kept as scheduled-\S+: The disk of the trial of the backup is that of DATA_DIR and too full/,
    );
    // The trial goes on until the process ends, which does not wait for the removal of another backup.
    expect(await scheduled.states()).toEqual([
      [earlier, 'unverified'],
      [NEW, 'unverified'],
    ]);
    await scheduled.target().begin(new Date());
    expect(await scheduled.states()).toEqual([[NEW, 'unverified']]);
  });
});
