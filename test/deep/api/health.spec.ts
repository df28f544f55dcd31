import { mkdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import supertest from 'supertest';
import { SchemaCheck } from '../../../src/platform/database/index.js';
import { Shutdown } from '../../../src/platform/http/index.js';
import { KillSwitch } from '../../../src/platform/kill-switch.js';
import { migrations, REPLACED_MIGRATIONS } from '../../../src/platform/database/migrations/index.js';
import { WorkspacePurge } from '../../../src/domain/workspaces/index.js';
import { noteMigrations } from '../../kit/before-baseline.js';
import { DatabaseLink } from '../../kit/database-link.js';
import { halfAnUpload } from '../../kit/half-upload.js';
import {
  createDatabase,
  eventually,
  startService,
  type TestDatabase,
  type TestService,
} from '../../kit/index.js';

const READY = { ready: true, database: 'ok', blobs: 'ok', migrations: 'ok' };
const BLOBS_AWAY = { error: 'the service is not ready', ...READY, ready: false, blobs: 'away' };

let database: TestDatabase;
let link: DatabaseLink;
let service: TestService;
beforeAll(async () => {
  database = await createDatabase();
  link = await DatabaseLink.to(database);
  service = await startService({ env: { DATABASE_URL: link.url } });
});
afterAll(async () => {
  await service.close();
  await link.cut();
  await database.drop();
});

const ready = (): supertest.Test => supertest(service.url).get('/health/ready');

/** Readiness is checked at most once a second, so a change may show a second later. */
async function eventuallyReady(status: number, body: object): Promise<void> {
  await eventually(async () => {
    const answer = await ready();
    expect([answer.status, answer.body]).toEqual([status, body]);
    if (status === 503) expect(answer.headers['retry-after']).toMatch(/^\d+$/);
  });
}

describe('GET /health/ready', () => {
  it('leaves no waiting connection behind after its checks have timed out', async () => {
    const holder = new pg.Client(database.url);
    await holder.connect();
    await holder.query('BEGIN; LOCK TABLE migrations');
    try {
      const looks = Array.from({ length: 3 }, () => service.app.get(SchemaCheck).look());
      for (const { status } of await Promise.allSettled(looks)) expect(status).toBe('rejected');
      await eventually(async () => {
        const waiting = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND application_name LIKE '% readiness'`;
        expect(await database.query(waiting)).toEqual([]);
      });
    } finally {
      await holder.end();
    }
  });

  it('is 200 when database, blob store and migrations are in order', async () => {
    await ready().expect(200, READY);
    await supertest(service.url).head('/health/ready').expect(200);
  });

  it.each(['cut', 'silence'] as const)('is 503 while the database is away: %s', async (fault) => {
    await ready().expect(200);
    await link[fault]();
    await eventuallyReady(503, {
      error: 'the service is not ready',
      ready: false,
      database: 'away',
      blobs: 'ok',
      migrations: 'unknown',
    });
    await supertest(service.url).get('/health').expect(200, { ok: true });
    await link.mend();
    await eventuallyReady(200, READY);
  });

  it('is 503 while the blobs cannot be read or written', async () => {
    const blobs = join(service.dataDir, 'blobs');
    await rename(blobs, `${blobs}-away`);
    await eventuallyReady(503, BLOBS_AWAY);
    await rename(`${blobs}-away`, blobs);
    await eventuallyReady(200, READY);
  });

  it('is 503 while the owner file cannot be read, as after a change of ownership', async () => {
    const id = join(service.dataDir, 'blobs', 'store-id');
    await rename(id, `${id}-away`);
    await eventuallyReady(503, BLOBS_AWAY);
    await rename(`${id}-away`, id);
    await eventuallyReady(200, READY);
  });

  it('is 503, as are uploads, while another directory is in the place of the blobs', async () => {
    const notes = await (await service.user('alice')).workspace();
    const blobs = join(service.dataDir, 'blobs');
    await rename(blobs, `${blobs}-away`);
    await mkdir(blobs);
    await eventuallyReady(503, BLOBS_AWAY);
    const { body } = await notes.put('YQ', Buffer.alloc(100_000)).expect(503);
    expect(body).toEqual({ error: 'the blob store cannot write' });
    await rm(blobs, { recursive: true });
    await rename(`${blobs}-away`, blobs);
    await eventuallyReady(200, READY);
    await notes.put('YQ', Buffer.alloc(100_000)).expect(201);
  });

  it('is 503 on a schema that lacks a migration, as after a restore of an old one', async () => {
    const last = migrations.at(-1)!.name;
    const [row] = await database.query<{ timestamp: string }>(
      'DELETE FROM migrations WHERE name = $1 RETURNING timestamp',
      [last],
    );
    await eventuallyReady(503, {
      error: 'the service is not ready',
      ...READY,
      ready: false,
      migrations: 'behind',
    });
    await database.query('INSERT INTO migrations (timestamp, name) VALUES ($1, $2)', [row!.timestamp, last]);
    await eventuallyReady(200, READY);
  });

  it('is 200 where the migrations before the baseline are in the list too', async () => {
    await noteMigrations(database, REPLACED_MIGRATIONS);
    expect(await service.app.get(SchemaCheck).look()).toBe('ok');
    await eventuallyReady(200, READY);
    await database.query('DELETE FROM migrations WHERE name = ANY ($1)', [REPLACED_MIGRATIONS]);
  });

  it('is 200 on a schema that a newer version has migrated, for rolling updates', async () => {
    await database.query(`INSERT INTO migrations (timestamp, name) VALUES (9999999999999, 'FromTheFuture')`);
    await eventuallyReady(200, { ...READY, migrations: 'ahead' });
    await database.query(`DELETE FROM migrations WHERE name = 'FromTheFuture'`);
    await eventuallyReady(200, READY);
  });

  it('is 200 while the service is read-only or down', async () => {
    const killSwitch = service.app.get(KillSwitch);
    for (const mode of ['read-only', 'down', 'off'] as const) {
      await killSwitch.set(mode);
      await killSwitch.look();
      await ready().expect(200, READY);
      await supertest(service.url).get('/health').expect(200, { ok: true });
    }
  });

  it('is 503 as soon as the process begins to shut down; other requests are served', async () => {
    const leaving = await startService({ beside: service });
    const alice = await leaving.user('alice');
    const ask = (): supertest.Test => supertest(leaving.url).get('/health/ready');
    await ask().expect(200, READY);
    void leaving.app.get(Shutdown).begin();
    const { body } = await ask().expect(503);
    expect(body).toEqual({ error: 'the service is shutting down', ...READY, ready: false });
    await supertest(leaving.url).get('/health').expect(200, { ok: true });
    await alice.workspace();
    await leaving.close();
    await ready().expect(200, READY);
  });
});

describe('a service that is shutting down', () => {
  it('accepts no new connection and finishes its requests while a purge is still running', async () => {
    const leaving = await startService();
    const alice = await leaving.user('alice');
    const [kept, doomed] = [await alice.workspace('kept'), await alice.workspace('doomed')];
    const steps: (() => void)[] = [];
    leaving.app.get(WorkspacePurge).addStep(async () => {
      await new Promise<void>((resolve) => steps.push(resolve));
      return 0;
    });
    await alice.delete(doomed.path).expect(200);
    await eventually(() => expect(steps).toHaveLength(1));
    const upload = await halfAnUpload(leaving.database, kept, 'YQ');

    const closed = leaving.close();
    await eventually(() => expect(leaving.app.getHttpServer().listening).toBe(false));
    expect(await upload()).toBe(201);
    steps[0]!();
    await closed;
    expect(leaving.logged()).not.toMatch(/"level":"(?:error|warn)"/);
  });
});
