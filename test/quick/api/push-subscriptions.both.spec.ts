import { createECDH, randomBytes, randomUUID } from 'node:crypto';
import type supertest from 'supertest';
import { parsePublicUrl } from '../../../src/platform/outbound.js';
import { WorkspacePurge } from '../../../src/domain/workspaces/index.js';
import {
  eventually,
  holdRow,
  startService,
  type TestService,
  type TestUser,
  type TestWorkspace,
} from '../../kit/index.js';
import { itDeep } from '../../kit/rounds.js';

const SUBSCRIPTION = '/api/v1/devices/push-subscription';
const WORKSPACE_NOT_FOUND = '{"error":"workspace not found"}';
const ENDPOINT = 'https://updates.push.services.mozilla.com/wpush/v2/gAAAAABk';

let service: TestService;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.close());

interface Body {
  workspaceId?: unknown;
  deviceId?: unknown;
  endpoint?: unknown;
  keys?: unknown;
}

interface StoredSubscription {
  device_id: string;
  endpoint: string;
  p256dh: string;
  auth: string;
}

function newKeys(): { p256dh: string; auth: string } {
  const p256dh = createECDH('prime256v1').generateKeys('base64url');
  return { p256dh, auth: randomBytes(16).toString('base64url') };
}

function bodyFor({ id }: TestWorkspace, changes: Body = {}): Body {
  return { workspaceId: id, deviceId: 'phone', endpoint: ENDPOINT, keys: newKeys(), ...changes };
}

function subscribe(user: TestUser, body: Body): supertest.Test {
  return user.post(SUBSCRIPTION).send(body);
}

function unsubscribe(user: TestUser, workspaceId: string, deviceId: string): supertest.Test {
  return user.delete(`${SUBSCRIPTION}/${workspaceId}/${deviceId}`);
}

function stored({ id }: TestWorkspace): Promise<StoredSubscription[]> {
  return service.database.query<StoredSubscription>(
    'SELECT device_id, endpoint, p256dh, auth FROM push_subscriptions WHERE workspace_id = $1 ORDER BY device_id',
    [id],
  );
}

describe('POST /api/v1/devices/push-subscription', () => {
  it('stores the subscription of an unregistered device while Web Push is off', async () => {
    const workspace = await (await service.user('alice')).workspace();
    const body = bodyFor(workspace);
    const answer = await subscribe(workspace.user, body).expect(201);
    expect(answer.body).toEqual({ ok: true });
    expect(await stored(workspace)).toEqual([
      { device_id: 'phone', endpoint: ENDPOINT, ...(body.keys as object) },
    ]);
  });

  it('replaces the endpoint and keys of the same device, and adds other devices', async () => {
    const workspace = await (await service.user('again')).workspace();
    await subscribe(workspace.user, bodyFor(workspace)).expect(201);
    const endpoint = 'https://fcm.googleapis.com/fcm/send/abc:def';
    const renewed = bodyFor(workspace, { endpoint });
    await subscribe(workspace.user, renewed).expect(201);
    await subscribe(workspace.user, bodyFor(workspace, { deviceId: 'tablet' })).expect(201);
    expect(await stored(workspace)).toEqual([
      { device_id: 'phone', endpoint, ...(renewed.keys as object) },
      expect.objectContaining({ device_id: 'tablet', endpoint: ENDPOINT }),
    ]);
  });

  it('keeps one per device when a device subscribes many times at once', async () => {
    const workspace = await (await service.user('at-once')).workspace();
    const all = Array.from({ length: 20 }, () => subscribe(workspace.user, bodyFor(workspace)).expect(201));
    await Promise.all(all);
    expect(await stored(workspace)).toHaveLength(1);
  });

  it('keeps subscriptions of the same device in several workspaces apart', async () => {
    const alice = await service.user('two-workspaces');
    const [one, two] = [await alice.workspace(), await alice.workspace()];
    await subscribe(alice, bodyFor(one)).expect(201);
    await subscribe(alice, bodyFor(two)).expect(201);
    await unsubscribe(alice, one.id, 'phone').expect(200);
    expect(await stored(one)).toEqual([]);
    expect(await stored(two)).toHaveLength(1);
  });

  it('accepts a workspace id in capitals, padded base64url, and any visible ASCII as device id', async () => {
    const workspace = await (await service.user('forms')).workspace();
    const { p256dh, auth } = newKeys();
    const deviceId = `!${'~'.repeat(127)}`;
    const keys = { p256dh: `${p256dh}=`, auth: `${auth}==` };
    const body = bodyFor(workspace, { workspaceId: workspace.id.toUpperCase(), deviceId, keys });
    await subscribe(workspace.user, body).expect(201);
    expect(await stored(workspace)).toEqual([{ device_id: deviceId, endpoint: ENDPOINT, p256dh, auth }]);
  });

  itDeep('keeps 100 in a workspace, and then removes the least recently renewed', async () => {
    const workspace = await (await service.user('crowd')).workspace();
    for (let i = 0; i < 100; i++) {
      await subscribe(workspace.user, bodyFor(workspace, { deviceId: `d${i}` })).expect(201);
      service.clock.advance(1);
    }
    await subscribe(workspace.user, bodyFor(workspace, { deviceId: 'd0' })).expect(201);
    service.clock.advance(1);
    await subscribe(workspace.user, bodyFor(workspace, { deviceId: 'newest' })).expect(201);
    const ids = (await stored(workspace)).map((row) => row.device_id);
    expect(ids).toHaveLength(100);
    expect(ids).toEqual(expect.arrayContaining(['d0', 'd2', 'd99', 'newest']));
    expect(ids).not.toContain('d1');
  });

  it.each([
    ['the workspace', 100],
    ['the user', 1_000],
  ])('does not wait for a locked surplus row of %s, and removes it the next time', async (whose, most) => {
    const workspace = await (await service.user(`crowd-of-${most}`)).workspace();
    const full = whose === 'the user' ? await workspace.user.workspace() : workspace;
    const count = async (): Promise<number> =>
      (await Promise.all([...new Set([workspace, full])].map(stored))).flat().length;
    await service.database.query(
      `INSERT INTO push_subscriptions (workspace_id, device_id, endpoint, p256dh, auth, updated_at)
       SELECT $1, 'of-' || $2 || '-' || i, $3, rpad('', 87, 'p'), rpad('', 22, 'a'), '2026-01-01'::timestamptz + i * interval '1 s'
       FROM generate_series(1, $2::int) i`,
      [full.id, most, ENDPOINT],
    );
    const marked = await holdRow(service.database, 'push_subscriptions', 'device_id', `of-${most}-1`);
    await subscribe(workspace.user, bodyFor(workspace)).expect(201);
    expect(await count()).toBe(most + 1);
    await marked.release();
    await subscribe(workspace.user, bodyFor(workspace)).expect(201);
    expect(await count()).toBe(most);
  });

  describe('a workspace that the caller may not use', () => {
    it.each([
      ['unknown', () => randomUUID()],
      ['malformed', () => 'no-uuid'],
      ['empty', () => ''],
    ])('is 404 when %s', async (_, workspaceId) => {
      const workspace = await (await service.user('foreign')).workspace();
      const answer = await subscribe(
        workspace.user,
        bodyFor(workspace, { workspaceId: workspaceId() }),
      ).expect(404);
      expect(answer.text).toBe(WORKSPACE_NOT_FOUND);
    });

    it('is 404 when deleted, of another user or beyond a bound token, before other checks', async () => {
      const [alice, bob] = [await service.user('owner'), await service.user('thief')];
      const [kept, deleted] = [await alice.workspace(), await alice.workspace()];
      await alice.delete(deleted.path).expect(200);
      const minted = { name: 'cli', workspaceId: (await alice.workspace()).id };
      const bound = alice.at(alice.url, (await alice.post('/api/v1/auth/tokens').send(minted)).body.token);
      for (const [user, workspace] of [
        [bob, kept],
        [bound, kept],
        [alice, deleted],
      ] as const) {
        for (const changes of [{}, { deviceId: undefined, endpoint: 'http://127.0.0.1', keys: 7 }]) {
          const answer = await subscribe(user, bodyFor(workspace, changes)).expect(404);
          expect(answer.text).toBe(WORKSPACE_NOT_FOUND);
        }
        const answer = await unsubscribe(user, workspace.id, 'phone').expect(404);
        expect(answer.text).toBe(WORKSPACE_NOT_FOUND);
      }
      expect(await stored(kept)).toEqual([]);
    });

    it('is 400 when it is not named', async () => {
      const workspace = await (await service.user('unnamed')).workspace();
      for (const workspaceId of [undefined, null, 7, [workspace.id]])
        await subscribe(workspace.user, bodyFor(workspace, { workspaceId })).expect(400);
    });
  });

  describe('a field that is missing or wrong is 400', () => {
    const { p256dh, auth } = newKeys();

    it.each<[string, Body, RegExp]>([
      ['no deviceId', { deviceId: undefined }, /^deviceId/],
      ['an empty deviceId', { deviceId: '' }, /^deviceId/],
      ['a deviceId with a space', { deviceId: 'my phone' }, /^deviceId/],
      ['a deviceId that is not ASCII', { deviceId: 'téléphone' }, /^deviceId/],
      ['a deviceId of 129 characters', { deviceId: 'x'.repeat(129) }, /^deviceId/],
      ['a deviceId that is not a string', { deviceId: 7 }, /^deviceId/],
      ['no endpoint', { endpoint: undefined }, /^endpoint/],
      ['an endpoint that is not a string', { endpoint: { href: ENDPOINT } }, /^endpoint/],
      ['no keys', { keys: undefined }, /^keys\.p256dh/],
      ['keys that are null', { keys: null }, /^keys\.p256dh/],
      ['keys that are a string', { keys: 'p256dh' }, /^keys\.p256dh/],
      ['no p256dh', { keys: { auth } }, /^keys\.p256dh/],
      ['no auth', { keys: { p256dh } }, /^keys\.auth/],
      ['a p256dh of 64 bytes', { keys: { p256dh: p256dh.slice(0, -2), auth } }, /^keys\.p256dh/],
      ['a p256dh of 66 bytes', { keys: { p256dh: `${p256dh}A`, auth } }, /^keys\.p256dh/],
      [
        'a p256dh that is not base64url',
        { keys: { p256dh: `${p256dh.slice(0, -1)}*`, auth } },
        /^keys\.p256dh/,
      ],
      ['an auth of 15 bytes', { keys: { p256dh, auth: auth.slice(0, 20) } }, /^keys\.auth/],
      ['an auth of 17 bytes', { keys: { p256dh, auth: `${auth}A` } }, /^keys\.auth/],
      ['an auth that is not base64url', { keys: { p256dh, auth: `${auth.slice(0, -2)}+/` } }, /^keys\.auth/],
    ])('%s', async (_, changes, message) => {
      const workspace = await (await service.user('faults')).workspace();
      const answer = await subscribe(workspace.user, bodyFor(workspace, changes)).expect(400);
      expect(answer.body).toEqual({ error: expect.stringMatching(message) });
      expect(await stored(workspace)).toEqual([]);
    });
  });

  describe('an endpoint', () => {
    it.each([
      'https://push.example.org',
      'https://push.example.org:8443/a?b=c',
      'https://xn--bcher-kva.example/push',
      'https://93.184.215.14/push',
      'https://[2606:2800:21f:cb07:6820:80da:af6b:8b2c]/push',
      'https://localhost.example.org/',
      'https://notlocal.org/',
      `https://push.example.org/${'x'.repeat(2048 - 25)}`,
    ])('may be %.60s', async (endpoint) => {
      const workspace = await (await service.user('endpoints')).workspace();
      await subscribe(workspace.user, bodyFor(workspace, { endpoint })).expect(201);
    });

    it.each([
      ...[
        '',
        'push.example.org',
        '/push',
        'http://push.example.org/',
        'ftp://push.example.org/',
        'wss://push.example.org/',
      ],
      ...[
        'https:push.example.org',
        'https://',
        'https:///push',
        'https:\\\\push.example.org\\',
        'javascript:alert(1)',
      ],
      ...[
        'https://push.example.org\\@127.0.0.1/',
        'https://push.example.org/a b',
        ' https://push.example.org/',
      ],
      ...[
        'https://push.example.org/\u0000',
        'https://push.example.org/\r\nHost: x',
        'https://push.example.org:99999/',
      ],
      `https://push.example.org/${'x'.repeat(2048 - 24)}`,
      `https://push.example.org/${'ä'.repeat(1000)}`, // longer when it is percent-encoded
    ])('must be an https URL, which %j is not', async (endpoint) => {
      const workspace = await (await service.user('no-urls')).workspace();
      const answer = await subscribe(workspace.user, bodyFor(workspace, { endpoint })).expect(400);
      expect(answer.body.error).toBe('endpoint must be an https URL of at most 2048 characters');
    });

    it.each([
      'https://user@push.example.org/',
      'https://user:password@push.example.org/',
      'https://:password@push.example.org/',
    ])('must not contain a user name or password: %s', async (endpoint) => {
      const workspace = await (await service.user('userinfo')).workspace();
      const answer = await subscribe(workspace.user, bodyFor(workspace, { endpoint })).expect(400);
      expect(answer.body.error).toBe('endpoint must not contain a user name or password');
    });

    it.each([
      // every notation of 127.0.0.1
      ...[
        '127.0.0.1',
        '127.0.0.1.',
        '127.1',
        '0x7f.1',
        '0177.0.0.1',
        '2130706433',
        '0x7f000001',
        '017700000001',
      ],
      ...[
        '127.255.255.254',
        '１２７.0.0.1',
        '127。0。0。1',
        '%31%32%37.0.0.1',
        '①②⑦.⓪.⓪.①',
        '127.0.0.1:8443',
      ],
      ...[
        '[::1]',
        '[0:0:0:0:0:0:0:1]',
        '[::ffff:127.0.0.1]',
        '[::ffff:7f00:1]',
        '[::127.0.0.1]',
        '[64:ff9b::7f00:1]',
      ],
      ...['[64:ff9b:1::7f00:1]', '[2002:7f00:1::]', '[2001:0:1::1]', '[::ffff:0:127.0.0.1]'],
      // private, link-local, shared and other non-public addresses
      ...[
        '10.0.0.1',
        '172.16.0.1',
        '172.31.255.255',
        '192.168.1.1',
        '169.254.169.254',
        '100.64.0.1',
        '100.127.255.255',
      ],
      ...[
        '0.0.0.0',
        '0.1.2.3',
        '192.0.0.1',
        '192.0.2.1',
        '198.18.0.1',
        '198.51.100.1',
        '203.0.113.1',
        '224.0.0.1',
      ],
      ...[
        '239.255.255.255',
        '240.0.0.1',
        '255.255.255.255',
        '0xa9fea9fe',
        '[::ffff:10.0.0.1]',
        '[::ffff:169.254.169.254]',
      ],
      ...[
        '[::]',
        '[fe80::1]',
        '[febf::1]',
        '[fec0::1]',
        '[fc00::1]',
        '[fd00:ec2::254]',
        '[ff02::1]',
        '[100::1]',
      ],
      ...['[2001:db8::1]', '[3fff::1]', '[5f00::1]', '[4000::1]'],
      // names of this machine and its network
      ...[
        'localhost',
        'LOCALHOST',
        'localhost.',
        'loc\u00adalhost',
        'push.localhost',
        'push.localhost.',
        'printer.local',
      ],
      ...[
        'metadata.google.internal',
        'router.lan',
        'nas.home.arpa',
        'localhost.localdomain',
        'intranet',
        'push',
      ],
    ])('must not point to %s', async (host) => {
      const workspace = await (await service.user('private')).workspace();
      const endpoint = `https://${host}/push`;
      const answer = await subscribe(workspace.user, bodyFor(workspace, { endpoint })).expect(400);
      expect(answer.body.error).toBe('endpoint must not point to a private network');
      expect(await stored(workspace)).toEqual([]);
    });

    it('is checked the same way after 50,000 others', () => {
      for (let i = 0; i < 50_000; i++) parsePublicUrl('https://b\u00fccher.example.org/push', 2048);
      expect(() => parsePublicUrl('https://loc\u00adalhost/push', 2048)).toThrow('private network');
    });
  });
});

describe('DELETE /api/v1/devices/push-subscription/:workspaceId/:deviceId', () => {
  it('removes the subscription of the device', async () => {
    const workspace = await (await service.user('unsubscribe')).workspace();
    for (const deviceId of ['phone', 'tablet'])
      await subscribe(workspace.user, bodyFor(workspace, { deviceId }));
    const answer = await unsubscribe(workspace.user, workspace.id.toUpperCase(), 'phone').expect(200);
    expect(answer.body).toEqual({ ok: true });
    expect((await stored(workspace)).map((row) => row.device_id)).toEqual(['tablet']);
  });

  it.each(['phone', randomUUID(), '%00', '%20', 'x'.repeat(300), '%C3%A4', "'"])(
    'is { ok: true } also when there is none: %.40s',
    async (deviceId) => {
      const workspace = await (await service.user('absent')).workspace();
      expect((await unsubscribe(workspace.user, workspace.id, deviceId).expect(200)).body).toEqual({
        ok: true,
      });
    },
  );

  it.each(['no-uuid', randomUUID(), '%00'])('is 404 for the workspace %s', async (workspaceId) => {
    const answer = await unsubscribe(await service.user('absent'), workspaceId, 'phone').expect(404);
    expect(answer.text).toBe(WORKSPACE_NOT_FOUND);
  });

  it('accepts a device id of any visible ASCII characters', async () => {
    const workspace = await (await service.user('odd')).workspace();
    const deviceId = '/?#%&;=+"\\';
    await subscribe(workspace.user, bodyFor(workspace, { deviceId })).expect(201);
    await unsubscribe(workspace.user, workspace.id, encodeURIComponent(deviceId)).expect(200);
    expect(await stored(workspace)).toEqual([]);
  });
});

describe('a workspace that is deleted', () => {
  it('loses its subscriptions', async () => {
    const workspace = await (await service.user('purged')).workspace();
    await subscribe(workspace.user, bodyFor(workspace)).expect(201);
    await workspace.user.delete(workspace.path).expect(200);
    await service.app.get(WorkspacePurge).idle();
    await eventually(async () => expect(await stored(workspace)).toEqual([]));
  });
});
