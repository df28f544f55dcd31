import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { BucketParts, bytesOf } from '../../../src/operations/backup/backup-parts.js';
import { PATIENCE, S3Connection } from '../../../src/platform/storage/s3/s3-connection.js';
import { S3Objects } from '../../../src/platform/storage/s3/s3-objects.js';
import { holdTable } from '../../kit/index.js';
import { ADMIN, environment } from '../../kit/process.js';
import { describeWithTestServers } from '../../kit/s3.js';
import { OLD, NEW, useBackupsInS3 } from '../../kit/scheduled-backups-s3.js';

describeWithTestServers('scheduled backups in S3', () => {
  const scheduled = useBackupsInS3();

  /** Makes the store unreachable from the first matching request on. */
  function awayFrom(method: string, path: RegExp): void {
    PATIENCE.ms = 0;
    let isAway = false;
    scheduled.proxy.set((request) => {
      isAway ||= request.method === method && path.test(request.path);
      return isAway ? { kind: 'reset' } : undefined;
    });
  }

  it.each([
    ['before it begins', 'PUT', /\/begun$/],
    ['in the tables', 'PUT', /\/tables\/users/],
    ['in the blobs', 'PUT', /\/blobs\//],
    ['before the manifest', 'PUT', /\/manifest\.json$/],
  ])('that end %s keep verified backups, and leave nothing that looks complete', async (_, method, path) => {
    await scheduled.plant(...OLD);
    awayFrom(method, path);
    await expect(scheduled.admin('backup', 'run')).rejects.toThrow(
      /^The S3 store at \S+ does not answer \(ECONNRESET\)/,
    );
    const [one, other, ...rest] = await scheduled.states();
    expect([one, other]).toEqual(OLD.map((name) => [name, 'verified']));
    expect(rest.filter(([, state]) => state !== 'partial')).toEqual([]);
    scheduled.proxy.heal();
    await scheduled.target().begin(new Date());
    expect(await scheduled.states()).toHaveLength(2);
  });

  it('that end between the trial and its result are unverified, and the next one replaces them', async () => {
    await scheduled.plant(...OLD);
    awayFrom('PUT', /\/verified$/);
    await expect(scheduled.admin('backup', 'run')).rejects.toThrow('does not answer');
    expect(await scheduled.states()).toEqual([...OLD.map((name) => [name, 'verified']), [NEW, 'unverified']]);
    scheduled.proxy.heal();
    await scheduled.admin('backup', 'run');
    expect(await scheduled.states()).toEqual([
      [OLD[1], 'verified'],
      [NEW, 'verified'],
    ]);
  });

  it('that another run has removed cannot be completed; their unfinished uploads are removed', async () => {
    const first = scheduled.target();
    const { draft, stamp } = await first.begin(new Date('2026-01-03T04:00:00Z'));
    const name = draft.split('/').at(-1)!;
    const parts = new BucketParts(draft, scheduled.objects().below(name));
    await parts.begin();
    const { endpoint, accessKey, secretKey, region } = scheduled.s3;
    const connection = new S3Connection({ endpoint, accessKey, secretKey, region, bucket: scheduled.bucket });
    await connection.call((client) =>
      client.initiateNewMultipartUpload(scheduled.bucket, `of/notes/${name}/tables/versions.copy.gz`, {}),
    );
    await scheduled.target().begin(new Date());
    await expect(parts.complete('manifest.json', '{}')).rejects.toThrow('has been removed meanwhile');
    await first.publish(draft, stamp); // has no effect without a manifest
    expect(await scheduled.states()).toEqual([[name, 'partial']]);
    const { uploads } = await connection.call((client) =>
      client.listIncompleteUploadsQuery(scheduled.bucket, '', '', '', ''),
    );
    expect(uploads).toEqual([]);
    connection.close();
  });

  describe('whose run', () => {
    const waiting = (count: number): Promise<void> =>
      scheduled.service.database.eventually(
        `SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE '%backup' AND wait_event_type = 'Lock'
           AND datname = current_database() HAVING count(*) = ${count}`,
      );

    /** A run that waits for a table, with its draft begun. */
    async function halfWay(): Promise<{
      child: ChildProcess;
      ended: Promise<unknown[]>;
      release: () => Promise<void>;
    }> {
      const { release } = await holdTable(scheduled.service.database, 'versions');
      try {
        const stdio = ['ignore', 'ignore', 'inherit'] as const;
        const child = spawn(process.execPath, [ADMIN, 'backup', 'run'], {
          env: environment(scheduled.env),
          stdio: [...stdio],
        });
        const ended = once(child, 'exit');
        const tooSoon = ended.then((how) => Promise.reject(new Error(`the run has ended: ${how.join()}`)));
        await Promise.race([waiting(1), tooSoon]);
        tooSoon.catch(() => undefined);
        return { child, ended, release };
      } catch (error) {
        await release(); // else later tests would wait for it
        throw error;
      }
    }

    it('is killed are partial, and the next run removes them', async () => {
      const { child, ended, release } = await halfWay();
      child.kill('SIGKILL');
      await ended;
      await release();
      expect(await scheduled.states()).toEqual([[NEW, 'partial']]);
      await scheduled.service.database.eventually(
        `SELECT WHERE NOT EXISTS (SELECT FROM pg_locks JOIN pg_database d ON d.oid = database
                                  WHERE locktype = 'advisory' AND objid = 3030222707 AND datname = current_database())`,
      );
      await scheduled.admin('backup', 'run');
      expect(await scheduled.states()).toEqual([[NEW, 'verified']]);
    });

    it('loses its lock are not completed, and the run that took the lock makes one', async () => {
      const { ended, release } = await halfWay();
      await scheduled.service.database.query(
        `SELECT pg_terminate_backend(l.pid) FROM pg_locks l JOIN pg_database d ON d.oid = l.database
         WHERE l.locktype = 'advisory' AND l.objid = 3030222707 AND d.datname = current_database()`,
      );
      const again = scheduled.admin('backup', 'run');
      await waiting(2);
      await release();
      expect(await again).toMatchObject({ kept: 1 });
      expect(await ended).toEqual([1, null]);
      expect(await scheduled.states()).toEqual([[NEW, 'verified']]);
    });
  });

  it('whose removal is interrupted are partial', async () => {
    await scheduled.plant(...OLD, 'scheduled-2026-01-03T040000.000Z');
    await scheduled.objects().put(`${OLD[0]}/tables/users.copy.gz`, bytesOf('rows'));
    jest.spyOn(S3Objects.prototype, 'removeAll').mockRejectedValue(new Error('killed'));
    await expect(scheduled.target().prune(2, '2026-01-03T040000.000Z')).rejects.toThrow('killed');
    expect((await scheduled.states()).slice(0, 2)).toEqual([
      [OLD[0], 'partial'],
      [OLD[1], 'verified'],
    ]);
  });
});
