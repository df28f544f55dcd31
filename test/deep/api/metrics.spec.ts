import supertest from 'supertest';
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:net';
import { once } from 'node:events';
import { BlobUpkeep } from '../../../src/platform/storage/index.js';
import { NightlyJobs } from '../../../src/platform/jobs/index.js';
import { InFlightRequests } from '../../../src/platform/http/index.js';
import { MetricsServer } from '../../../src/platform/metrics.js';
import { generateVapidKeys } from '../../../src/domain/devices/web-push/web-push.service.js';
import { createApp } from '../../../src/app.js';
import { loadConfiguration } from '../../../src/platform/config/index.js';
import { DatabaseLink } from '../../kit/database-link.js';
import { Exposition } from '../../kit/exposition.js';
import {
  createDatabase,
  eventually,
  sha256,
  startService,
  type TestService,
  TestSocket,
  type TestUser,
  type TestWorkspace,
} from '../../kit/index.js';
import { RECOVERY_SLOT } from '../../kit/key-slots.js';
import { deliver, eventOf, postRaw, WEBHOOK_SECRET } from '../../kit/payment-provider.js';
import { unfinishedUpload } from '../../kit/raw-http.js';
import { startPushService, type TestPushService } from '../../kit/push-service.js';

const REQUESTS = 'cloud_sync_http_request_duration_seconds_count';
const VAPID = generateVapidKeys();
const env = {
  METRICS_PORT: '0',
  PAYMENT_WEBHOOK_SECRET: WEBHOOK_SECRET,
  RATE_LIMIT_PER_MINUTE: '100000',
  VAPID_PUBLIC_KEY: VAPID.publicKey,
  VAPID_PRIVATE_KEY: VAPID.privateKey,
  VAPID_SUBJECT: 'mailto:push@example.org',
};

let pushService: TestPushService;
let service: TestService;
let other: TestService;
let alice: TestUser;
let workspace: TestWorkspace;
beforeAll(async () => {
  pushService = await startPushService();
  service = await startService({ env, outbound: pushService.outbound() });
  other = await startService({ env, beside: service, outbound: pushService.outbound() });
  alice = await service.user('alice');
  workspace = await alice.workspace();
});
afterAll(async () => {
  await other.close();
  await service.close();
  await pushService.close();
});

const WRITES = 'cloud_sync_key_slot_writes_total';

type Labels = Readonly<Record<string, string>>;

/** By how much a metric changes on each instance during `work`. */
async function moved(
  name: string,
  labels: Labels,
  work: () => Promise<unknown>,
): Promise<{ here: number; there: number }> {
  const before = [await Exposition.of(service), await Exposition.of(other)] as const;
  await work();
  const after = [await Exposition.of(service), await Exposition.of(other)] as const;
  return {
    here: after[0].sum(name, labels) - before[0].sum(name, labels),
    there: after[1].sum(name, labels) - before[1].sum(name, labels),
  };
}

describe('GET /metrics', () => {
  it('is the only thing on its port, in the text format', async () => {
    const at = supertest(`http://127.0.0.1:${service.app.get(MetricsServer).port}`);
    const { headers, text } = await at.get('/metrics').expect(200);
    expect(headers['content-type']).toBe('text/plain; version=0.0.4; charset=utf-8');
    expect(Exposition.read(text).samples.length).toBeGreaterThan(50);
    for (const path of ['/', '/health', '/metrics/x', '/api/v1/auth/me']) await at.get(path).expect(404);
    await at.post('/metrics').expect(404);
    await supertest(service.url).get('/metrics').expect(404);
  });

  it('does not exist without METRICS_PORT', async () => {
    const unwatched = await startService({ beside: service });
    expect(unwatched.app.get(MetricsServer).port).toBeUndefined();
    await unwatched.close();
  });

  it('makes the start fail with one sentence when METRICS_PORT is in use', async () => {
    const blocker = createServer().listen(0, '127.0.0.1');
    await once(blocker, 'listening');
    const { port } = blocker.address() as { port: number };
    const configuration = loadConfiguration({
      DATABASE_URL: service.database.url,
      DATA_DIR: service.dataDir,
      METRICS_PORT: String(port),
      LOG_LEVEL: 'silent',
    });
    await expect(createApp(configuration)).rejects.toThrow(
      `METRICS_PORT ${port} cannot be used on 127.0.0.1 (EADDRINUSE); set it to another port, or unset it.`,
    );
    blocker.close();
  });

  it('counts requests by pattern, method and class of status, on the instance that answered', async () => {
    const route = '/api/v1/workspaces/:id/files/:encPath';
    const put = { route, method: 'PUT', status: '2xx' };
    expect(
      await moved(REQUESTS, put, async () => {
        await workspace.put('YQ', 'one').expect(201);
        await workspace.put('YQ', 'two').expect(200);
        await workspace.as(alice.at(other.url)).put('YQ', 'three').expect(200);
      }),
    ).toEqual({ here: 2, there: 1 });
    expect(
      await moved(REQUESTS, { route, method: 'GET', status: '4xx' }, () =>
        workspace.get('bm9uZQ').expect(404),
      ),
    ).toEqual({ here: 1, there: 0 });
    expect(
      await moved(REQUESTS, { route: 'none' }, async () => {
        for (const path of ['/nope', '/nope/2', '/api/v1/nope']) await alice.get(path).expect(404);
      }),
    ).toEqual({ here: 3, there: 0 });
    expect((await Exposition.of(service)).sum('cloud_sync_http_requests_in_flight')).toBe(0);
  });

  it('counts requests whose client has disconnected apart from answered ones', async () => {
    const labels = { route: '/api/v1/workspaces/:id/files/:encPath', method: 'PUT' };
    const leave = async (): Promise<void> => {
      const inFlight = service.app.get(InFlightRequests);
      const socket = unfinishedUpload(service.url, workspace, 'bGVmdA');
      await eventually(() => expect(inFlight.count).toBe(1));
      socket.destroy();
      await eventually(() => expect(inFlight.count).toBe(0));
    };
    expect(await moved('cloud_sync_http_requests_broken_off_total', labels, leave)).toEqual({
      here: 1,
      there: 0,
    });
    expect(await moved(REQUESTS, labels, leave)).toEqual({ here: 0, there: 0 });
  });

  it('counts changes by kind, as many as the log has', async () => {
    const kinds = (): Promise<Record<string, number>> => changes(service);
    const before = await kinds();
    const { cursor } = await workspace.status();
    for (const path of ['Yg', 'Yw', 'ZA', 'ZQ']) await workspace.put(path, 'one').expect(201);
    await workspace.put('Yg', 'two').expect(200);
    await workspace.put('Yg', 'two').expect(200); // nothing new
    const [, first] = await workspace.versions('Yg');
    await workspace.restore('Yg', first!.id).expect(200);
    await workspace.delete('Yg').expect(200);
    const { body } = await workspace.push((await workspace.status()).cursor, ['Yw', 'ZA', 'bm9uZQ']);
    expect(body.accepted).toHaveLength(3);
    const after = await kinds();
    expect(difference(after, before)).toEqual({ create: 4, update: 1, restore: 1, delete: 3 });
    expect((await workspace.status()).cursor - cursor).toBe(9);
  });

  it('counts sockets by state, and messages sent to them, at the instance that has them', async () => {
    const sockets = async (at: TestService): Promise<(number | undefined)[]> => {
      const exposition = await Exposition.of(at);
      return ['joined', 'waiting'].map((state) => exposition.value('cloud_sync_sockets', { state }));
    };
    const waiting = await TestSocket.open(other.url, workspace.id, alice.token);
    const joined = await TestSocket.join(workspace.as(alice.at(other.url)), 'phone');
    await eventually(async () => expect(await sockets(other)).toEqual([1, 1]));
    expect(await sockets(service)).toEqual([0, 0]);
    const { there } = await moved('cloud_sync_socket_messages_sent_total', {}, () => joined.settled());
    expect(there).toBe(1);
    await joined.close();
    await waiting.close();
    await eventually(async () => expect(await sockets(other)).toEqual([0, 0]));
  });

  it('counts payment events by their effect; an unverified one is a 4xx of the route', async () => {
    const send = (event: object): supertest.Test => deliver(service.url, event, service.clock.now());
    const event = eventOf('customer.subscription.updated', service.clock.now(), {
      id: 'sub_unknown',
      object: 'subscription',
      customer: 'cus_unknown',
      status: 'active',
    });
    const outcome = { outcome: 'unknown_customer' };
    expect(await moved('cloud_sync_payment_events_total', outcome, () => send(event).expect(200))).toEqual({
      here: 1,
      there: 0,
    });
    const refused = { route: '/api/v1/webhooks/payment', status: '4xx' };
    expect(
      await moved(REQUESTS, refused, () =>
        postRaw(service.url, '{}', { 'payment-signature': 'a'.repeat(64) }).expect(400),
      ),
    ).toEqual({ here: 1, there: 0 });
  });

  it('counts writes of key slots by their outcome', async () => {
    const vault = await alice.workspace('with key slots');
    const verificationHash = sha256('key');
    const setup = { encryptionSalt: 'ab'.repeat(32), verificationSalt: 'cd'.repeat(32), verificationHash };
    await alice.post(`${vault.path}/setup-encryption`).send(setup).expect(200);
    const slot = RECOVERY_SLOT;
    const path = `${vault.path}/key-slots/`;
    const [one, other] = [path + randomUUID(), path + randomUUID()];
    const writes = async (): Promise<void> => {
      for (const at of [one, other, other])
        await alice
          .put(at)
          .send({ ...slot, verificationHash })
          .expect(({ ok }) => expect(ok).toBe(true));
      await alice.delete(one).send({ verificationHash }).expect(200);
      await alice
        .delete(other)
        .send({ verificationHash: sha256('guess') })
        .expect(403);
    };
    const before = await Exposition.of(service);
    await writes();
    const after = await Exposition.of(service);
    const byOutcome = ['created', 'replaced', 'deleted', 'refused'].map((outcome) => [
      outcome,
      after.sum(WRITES, { outcome }) - before.sum(WRITES, { outcome }),
    ]);
    expect(Object.fromEntries(byOutcome)).toEqual({ created: 2, replaced: 1, deleted: 1, refused: 1 });
  });

  it('counts pushes by their outcome', async () => {
    const browser = pushService.browser();
    const subscription = { workspaceId: workspace.id, deviceId: 'phone', endpoint: browser.endpoint };
    await alice
      .post('/api/v1/devices/push-subscription')
      .send({ ...subscription, keys: browser.keys })
      .expect(201);
    const delivered = async (): Promise<number> => {
      const both = [await Exposition.of(service), await Exposition.of(other)];
      return both.reduce((sum, of) => sum + of.sum('cloud_sync_pushes_total', { outcome: 'delivered' }), 0);
    };
    await workspace.put('Zg', 'wake up').expect(201);
    await eventually(async () => expect([browser.requests, await delivered()]).toEqual([1, 1]));
  });

  it('reports how long blobs wait for the sweeper, and how many', async () => {
    const now = service.clock.now();
    service.clock.stopAt(now);
    const ids = ['11111111-1111-4111-8111-111111111111', '22222222-2222-4222-8222-222222222222'];
    for (const [index, id] of ids.entries())
      await service.database.query(
        `INSERT INTO blobs (workspace_id, id, state, location, created_at) VALUES ($1, $2, 'staged', 'disk', $3)`,
        [workspace.id, id, new Date(now.getTime() - (index + 1) * 3_600_000)],
      );
    for (const at of [service, other]) {
      const exposition = await Exposition.of(at);
      expect(exposition.value('cloud_sync_blobs_waiting', { state: 'staged' })).toBe(2);
      expect(exposition.value('cloud_sync_blobs_waiting_oldest_seconds', { state: 'staged' })).toBe(7_200);
      expect(exposition.value('cloud_sync_blobs_waiting', { state: 'pending_delete' })).toBe(0);
      expect(exposition.value('cloud_sync_blobs_waiting_oldest_seconds', { state: 'pending_delete' })).toBe(
        0,
      );
    }
    service.clock.resume();
    service.clock.advance(2_000);
    await service.app.get(BlobUpkeep, { strict: false }).sweep(service.clock.now());
    expect((await Exposition.of(other)).sum('cloud_sync_blobs_waiting')).toBe(0);
  });

  it('reports the last run of each job, on every instance', async () => {
    const jobs = service.app.get(NightlyJobs, { strict: false });
    const fault = (): Promise<never> => Promise.reject(new Error('a planned fault'));
    await jobs.runAlone('of-tests', () => Promise.resolve({ done: 1 }));
    await expect(jobs.runAlone('failing', fault)).rejects.toThrow('a planned fault');
    const exposition = await Exposition.of(other);
    const of = (what: string, name: string): number | undefined =>
      exposition.value(`cloud_sync_job_${what}`, { name });
    expect(of('last_success', 'of-tests')).toBe(1);
    expect(of('last_success', 'failing')).toBe(0);
    const [run] = await service.database.query<{ started_at: Date; ended_at: Date }>(
      `SELECT started_at, ended_at FROM job_runs WHERE name = 'of-tests'`,
    );
    expect(of('last_start_timestamp_seconds', 'of-tests')).toBe(run!.started_at.getTime() / 1000);
    expect(of('last_end_timestamp_seconds', 'of-tests')).toBe(run!.ended_at.getTime() / 1000);
  });

  it('counts requests refused by a rate limit', async () => {
    service.clock.stopAt(service.clock.now()); // the minute does not end meanwhile
    const refused = await moved('cloud_sync_rate_limited_total', {}, async () => {
      const attempt = (): supertest.Test =>
        alice.post(`${workspace.path}/verify-password`).send({ verificationHash: 'a'.repeat(64) });
      const statuses: number[] = [];
      for (let n = 0; n < 12; n++) statuses.push((await attempt()).status);
      expect(statuses.filter((status) => status === 429)).toHaveLength(2);
    });
    expect(refused).toEqual({ here: 2, there: 0 });
    service.clock.resume();
  });

  it('reports the pool, the event loop and the dependencies of the service', async () => {
    const exposition = await Exposition.of(service);
    const pool = ['open', 'idle', 'waiting'].map((state) =>
      exposition.value('cloud_sync_database_pool', { state }),
    );
    expect(pool[0]).toBeGreaterThanOrEqual(1);
    expect(pool[1]).toBeLessThanOrEqual(pool[0]!);
    expect(pool[2]).toBe(0);
    for (const part of ['all', 'database', 'blobs'])
      expect(exposition.value('cloud_sync_ready', { part })).toBe(1);
    expect(exposition.value('nodejs_eventloop_lag_p99_seconds')).toEqual(expect.any(Number));
  });

  it('logs the reason for an absent value once, until the value is back', async () => {
    const told = (): number => service.logged().split('cloud_sync_blobs_waiting cannot be read').length - 1;
    const isThere = async (): Promise<boolean> =>
      (await Exposition.of(service)).value('cloud_sync_blobs_waiting', { state: 'staged' }) !== undefined;
    for (let failures = 1; failures <= 2; failures++) {
      await service.database.query('ALTER TABLE blobs RENAME TO away');
      try {
        expect([await isThere(), await isThere()]).toEqual([false, false]);
        expect(told()).toBe(failures);
      } finally {
        await service.database.query('ALTER TABLE away RENAME TO blobs');
      }
      expect(await isThere()).toBe(true);
    }
  });

  it('contains no user data and no secret', async () => {
    const { text, samples } = await Exposition.of(service);
    for (const secret of [
      workspace.id,
      alice.id,
      alice.email,
      alice.token,
      WEBHOOK_SECRET,
      '127.0.0.1',
      'YQ',
    ])
      expect(text).not.toContain(secret);
    const ours = samples.filter(({ name }) => name.startsWith('cloud_sync_') && !name.includes('_http_'));
    expect(ours.length).toBeLessThan(100);
  });
});

describe('GET /metrics while PostgreSQL is unreachable', () => {
  it.each(['cut', 'silence'] as const)('returns the metrics that do not need it: %s', async (fault) => {
    const database = await createDatabase();
    const link = await DatabaseLink.to(database);
    const linked = await startService({ env: { ...env, DATABASE_URL: link.url } });
    try {
      expect((await Exposition.of(linked)).value('cloud_sync_ready', { part: 'database' })).toBe(1);
      await link[fault]();
      await eventually(async () => {
        const exposition = await Exposition.of(linked);
        expect(exposition.value('cloud_sync_blobs_waiting', { state: 'staged' })).toBeUndefined();
        expect(exposition.value('cloud_sync_ready', { part: 'database' })).toBe(0);
        expect(exposition.value('cloud_sync_ready', { part: 'blobs' })).toBe(1);
        expect(exposition.value('cloud_sync_sockets', { state: 'joined' })).toBe(0);
        expect(exposition.value('process_start_time_seconds')).toBeGreaterThan(0);
      });
      await link.mend();
      await eventually(async () =>
        expect((await Exposition.of(linked)).value('cloud_sync_ready', { part: 'database' })).toBe(1),
      );
    } finally {
      await linked.close();
      await link.cut();
      await database.drop();
    }
  });
});

async function changes(at: TestService): Promise<Record<string, number>> {
  const exposition = await Exposition.of(at);
  const kinds = ['create', 'update', 'restore', 'delete'];
  return Object.fromEntries(
    kinds.map((kind) => [kind, exposition.sum('cloud_sync_changes_total', { kind })]),
  );
}

function difference(after: Record<string, number>, before: Record<string, number>): Record<string, number> {
  return Object.fromEntries(
    Object.entries(after).map(([kind, value]) => [kind, value - (before[kind] ?? 0)]),
  );
}
