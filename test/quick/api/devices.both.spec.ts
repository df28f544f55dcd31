import { randomUUID } from 'node:crypto';
import { generateVapidKeys } from '../../../src/domain/devices/web-push/web-push.service.js';
import { DEVICE_ID, Devices } from '../../../src/domain/devices/index.js';
import {
  eventually,
  startService,
  type TestService,
  TestSocket,
  type TestUser,
  type TestWorkspace,
} from '../../kit/index.js';
import { itDeep } from '../../kit/rounds.js';

const DEVICES = '/api/v1/devices';
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const NOT_FOUND = '{"error":"device not found"}';
const KEYS = {
  p256dh: 'BL00bDYeLUn03mz20KY9ZlxPdltOpNHJvdVXJYaoNYHQg3Vocz7gyb1rugY2RL1koRs3iuNkaysXAq6dX7qN2kI',
  auth: 'xrMrGo8P6rKVmRN-MHeJAw',
};

let service: TestService;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.close());

interface ListedDevice {
  id: string;
  name: string;
  platform: string;
  last_seen_at: string | null;
  created_at: string;
}

async function registered(user: TestUser, name = 'Laptop', platform = 'linux'): Promise<string> {
  return (await user.post(DEVICES).send({ name, platform }).expect(201)).body.id;
}

async function listed(user: TestUser): Promise<ListedDevice[]> {
  return (await user.get(DEVICES).expect(200)).body.devices;
}

/** The user with an access token that has these properties. */
async function holder(user: TestUser, body: object): Promise<TestUser> {
  const { token } = (
    await user
      .post('/api/v1/auth/tokens')
      .send({ name: 'cli', ...body })
      .expect(201)
  ).body;
  return user.at(user.url, token);
}

async function subscribe(user: TestUser, workspaceId: string, deviceId: string): Promise<void> {
  const body = { workspaceId, deviceId, endpoint: 'https://push.example.org/abc', keys: KEYS };
  await user.post(`${DEVICES}/push-subscription`).send(body).expect(201);
}

async function subscribedDevices(workspaceId: string): Promise<string[]> {
  const rows = await service.database.query<{ device_id: string }>(
    'SELECT device_id FROM push_subscriptions WHERE workspace_id = $1 ORDER BY 1',
    [workspaceId],
  );
  return rows.map((row) => row.device_id);
}

describe('POST /api/v1/devices', () => {
  it('returns the device in camelCase, and nothing more', async () => {
    const alice = await service.user('alice');
    const { body } = await alice.post(DEVICES).send({ name: '  My phone ', platform: ' ios ' }).expect(201);
    expect(body).toEqual({
      id: expect.stringMatching(UUID),
      userId: alice.id,
      name: 'My phone',
      platform: 'ios',
    });
  });

  it('needs no subscription', async () => {
    await registered(await service.newcomer('free'));
  });

  it.each([
    ['of one character', 'x', 'y'],
    ['of maximum length, counted in characters', '💻'.repeat(100), '💻'.repeat(50)],
  ])('accepts a name and a platform %s', async (_, name, platform) => {
    const alice = await service.user('names');
    await registered(alice, name, platform);
    expect(await listed(alice)).toContainEqual(expect.objectContaining({ name, platform }));
  });

  it.each([
    ['no name', { platform: 'linux' }],
    ['no platform', { name: 'Laptop' }],
    ['a name that is not a string', { name: 7, platform: 'linux' }],
    ['a platform that is not a string', { name: 'Laptop', platform: ['linux'] }],
    ['a blank name', { name: '   ', platform: 'linux' }],
    ['a blank platform', { name: 'Laptop', platform: '\t' }],
    ['a name of 101 characters', { name: 'x'.repeat(101), platform: 'linux' }],
    ['a platform of 51 characters', { name: 'Laptop', platform: 'x'.repeat(51) }],
    ['a control character', { name: 'Lap\u0007top', platform: 'linux' }],
  ])('refuses %s', async (_, body) => {
    const alice = await service.user('refused');
    const answer = await alice.post(DEVICES).send(body).expect(400);
    expect(answer.body).toEqual({
      error: expect.stringMatching(/^(?:name|platform) must be 1 to (?:100|50) /),
    });
    expect(await listed(alice)).toEqual([]);
  });
});

describe('the limit of 1,000 devices', () => {
  const ONE_MORE = { name: 'One more', platform: 'linux' };

  itDeep(
    'holds for concurrent registrations on all instances; a removal makes room for another',
    async () => {
      const [alice, bob] = [await service.user('collector'), await service.user('modest')];
      await service.database.query(
        `INSERT INTO devices (id, user_id, name, platform, created_at)
       SELECT gen_random_uuid(), $1, 'Device', 'linux', now() FROM generate_series(1, 995)`,
        [alice.id],
      );
      const other = await startService({ beside: service });
      try {
        const together = Array.from({ length: 20 }, (_, index) =>
          alice
            .at(index % 2 ? service.url : other.url)
            .post(DEVICES)
            .send(ONE_MORE),
        );
        const answers = await Promise.all(together);
        expect(answers.filter(({ status }) => status === 201)).toHaveLength(5);
        const refused = answers.filter(({ status }) => status !== 201);
        expect(refused.map(({ status }) => status)).toEqual(refused.map(() => 409));
        expect(refused[0]!.body).toEqual({ error: 'a user can have at most 1000 devices: delete one first' });
      } finally {
        await other.close();
      }
      const devices = await listed(alice);
      expect(devices).toHaveLength(1000);
      await registered(bob);
      await alice.delete(`${DEVICES}/${devices[0]!.id}`).expect(200);
      await registered(alice);
      await alice.post(DEVICES).send(ONE_MORE).expect(409);
    },
  );
});

describe('GET /api/v1/devices', () => {
  it('lists the user’s own devices in the order of their registration, in snake_case', async () => {
    const [alice, bob] = [await service.user('list-alice'), await service.user('list-bob')];
    service.clock.stopAt(new Date('2026-05-01T10:00:00.123Z'));
    const first = await registered(alice, 'Laptop', 'linux');
    service.clock.resume();
    const second = await registered(alice, 'Phone', 'ios');
    await registered(bob);
    expect(await listed(alice)).toEqual([
      {
        id: first,
        name: 'Laptop',
        platform: 'linux',
        last_seen_at: null,
        created_at: '2026-05-01T10:00:00.123Z',
      },
      expect.objectContaining({ id: second, name: 'Phone' }),
    ]);
  });
});

describe('DELETE /api/v1/devices/:id', () => {
  it('removes the device; a second request is 404', async () => {
    const alice = await service.user('delete');
    const [kept, gone] = [await registered(alice), await registered(alice)];
    expect((await alice.delete(`${DEVICES}/${gone}`).expect(200)).body).toEqual({ ok: true });
    expect((await listed(alice)).map(({ id }) => id)).toEqual([kept]);
    await alice.delete(`${DEVICES}/${gone}`).expect(404);
  });

  it('answers the same 404 for the device of another user, an unknown id and a malformed id', async () => {
    const [alice, bob] = [await service.user('own'), await service.user('other')];
    const id = await registered(alice);
    for (const one of [id, randomUUID(), 'no-uuid', `${id}0`, '%00', "'"]) {
      const answer = await bob.delete(`${DEVICES}/${one}`).expect(404);
      expect(answer.text).toBe(NOT_FOUND);
    }
    expect(await listed(alice)).toHaveLength(1);
  });

  it('removes its push subscriptions in all workspaces of the user, and no others', async () => {
    const [alice, bob] = [await service.user('unsubscribing'), await service.user('bystander')];
    const [one, two, bobs] = [await alice.workspace(), await alice.workspace(), await bob.workspace()];
    const [gone, kept] = [await registered(alice), await registered(alice)];
    for (const deviceId of [gone, kept, 'unregistered']) {
      await subscribe(alice, one.id, deviceId);
      await subscribe(alice, two.id, deviceId);
    }
    await subscribe(bob, bobs.id, gone); // a subscription may name any device id
    await alice.delete(`${DEVICES}/${gone}`).expect(200);
    expect(await subscribedDevices(one.id)).toEqual([kept, 'unregistered']);
    expect(await subscribedDevices(two.id)).toEqual([kept, 'unregistered']);
    expect(await subscribedDevices(bobs.id)).toEqual([gone]);
  });

  it('changes nothing for the device of another user', async () => {
    const [alice, bob] = [await service.user('victim'), await service.user('attacker')];
    const workspace = await alice.workspace();
    const id = await registered(alice);
    await subscribe(alice, workspace.id, id);
    await bob.delete(`${DEVICES}/${id}`).expect(404);
    expect(await subscribedDevices(workspace.id)).toEqual([id]);
  });
});

describe('a personal access token', () => {
  it.each(['documents:read', 'documents:write'])(
    'for %s lists and registers devices, but cannot delete one',
    async (scope) => {
      const alice = await service.user('scoped');
      const token = await holder(alice, { scopes: [scope] });
      const id = await registered(token);
      expect((await listed(token)).map((device) => device.id)).toContain(id);
      await token.get(`${DEVICES}/vapid-public-key`).expect(200);
      await token.delete(`${DEVICES}/${id}`).expect(403);
      await alice.delete(`${DEVICES}/${id}`).expect(200);
    },
  );

  it.each(['agent:invoke', 'assets:read', 'assets:write'])('for %s gets 403 everywhere', async (scope) => {
    const token = await holder(await service.user('scoped'), { scopes: [scope] });
    await token.get(DEVICES).expect(403);
    await token.get(`${DEVICES}/vapid-public-key`).expect(403);
    await token.post(DEVICES).send({ name: 'x', platform: 'y' }).expect(403);
    await token.post(`${DEVICES}/push-subscription`).send({}).expect(403);
    await token.delete(`${DEVICES}/push-subscription/${randomUUID()}/phone`).expect(403);
  });

  it('bound to a workspace lists the user’s devices, but cannot delete one', async () => {
    const alice = await service.user('bound');
    const token = await holder(alice, { workspaceId: (await alice.workspace()).id });
    const ids = [await registered(alice), await registered(token)];
    expect((await listed(token)).map(({ id }) => id)).toEqual(ids);
    await token.delete(`${DEVICES}/${ids[0]}`).expect(403);
    expect((await listed(alice)).map(({ id }) => id)).toEqual(ids);
  });
});

describe('GET /api/v1/devices/vapid-public-key', () => {
  it('is { enabled: false } and nothing more while Web Push is off', async () => {
    const { body } = await (await service.user('off')).get(`${DEVICES}/vapid-public-key`).expect(200);
    expect(body).toEqual({ enabled: false });
  });

  it('is the key when Web Push is on', async () => {
    const { publicKey, privateKey } = generateVapidKeys();
    const env = {
      VAPID_PUBLIC_KEY: publicKey,
      VAPID_PRIVATE_KEY: privateKey,
      VAPID_SUBJECT: 'mailto:push@example.org',
    };
    const other = await startService({ env, beside: service });
    const alice = (await service.user('on')).at(other.url);
    const { body } = await alice.get(`${DEVICES}/vapid-public-key`).expect(200);
    expect(body).toEqual({ publicKey, enabled: true });
    expect(other.logged()).not.toContain('does not belong');
    await other.close();
  });

  it('is reported at the start when it does not belong to the private key', async () => {
    const env = {
      VAPID_PUBLIC_KEY: generateVapidKeys().publicKey,
      VAPID_PRIVATE_KEY: generateVapidKeys().privateKey,
      VAPID_SUBJECT: 'mailto:push@example.org',
    };
    const other = await startService({ env, beside: service });
    expect(other.logged()).toContain('VAPID_PUBLIC_KEY does not belong to VAPID_PRIVATE_KEY');
    await other.close();
  });
});

describe('the last-seen time of a device', () => {
  const MINUTE_MS = 60_000;
  const lastSeen = async (user: TestUser): Promise<(string | null)[]> =>
    (await listed(user)).map((device) => device.last_seen_at);

  it('is written at most once a minute by all instances together', async () => {
    const alice = await service.user('seen');
    const id = await registered(alice);
    const other = await startService({ beside: service });
    const [here, there] = [service.app.get(Devices), other.app.get(Devices)];
    const start = new Date('2026-05-01T10:00:00.000Z');
    service.clock.stopAt(start);
    try {
      await here.seen(alice.id, id);
      expect(await lastSeen(alice)).toEqual([start.toISOString()]);
      service.clock.advance(MINUTE_MS - 1);
      await here.seen(alice.id, id);
      await there.seen(alice.id, id);
      expect(await lastSeen(alice)).toEqual([start.toISOString()]);
      service.clock.advance(MINUTE_MS);
      await there.seen(alice.id, id);
      await here.seen(alice.id, id);
      expect(await lastSeen(alice)).toEqual(['2026-05-01T10:01:59.999Z']);
    } finally {
      service.clock.resume();
      await other.close();
    }
  });

  it.each([
    ['a pull', (workspace: TestWorkspace, id: string) => workspace.pull(0, 100, id).expect(200)],
    ['a push', (workspace: TestWorkspace, id: string) => workspace.push(0, ['YQ'], id).expect(200)],
    [
      'the hello of a socket',
      async (workspace: TestWorkspace, id: string) => (await TestSocket.join(workspace, id)).close(),
    ],
  ])('is written by %s', async (_, act) => {
    const workspace = await (await service.user('noted')).workspace();
    const id = await registered(workspace.user);
    await act(workspace, id);
    await eventually(async () => {
      const device = (await listed(workspace.user)).find((one) => one.id === id);
      expect(device?.last_seen_at).toEqual(expect.any(String));
    });
  });

  it('is not written for an unregistered device or for the device of another user', async () => {
    const [alice, bob] = [await service.user('seen-alice'), await service.user('seen-bob')];
    const id = await registered(alice);
    const devices = service.app.get(Devices);
    for (const deviceId of ['laptop', randomUUID(), "'; DROP TABLE devices; --"])
      await devices.seen(alice.id, deviceId);
    await devices.seen(bob.id, id);
    expect(await lastSeen(alice)).toEqual([null]);
  });

  it('causes no error when it cannot be written', async () => {
    const alice = await service.user('seen-failing');
    const id = await registered(alice);
    await service.database.query('ALTER TABLE devices RENAME TO elsewhere');
    try {
      await expect(service.app.get(Devices).seen(alice.id, id)).resolves.toBeUndefined();
    } finally {
      await service.database.query('ALTER TABLE elsewhere RENAME TO devices');
    }
  });
});

describe('the names of devices', () => {
  it('are returned for registered devices of the user alone', async () => {
    const [alice, bob] = [await service.user('named'), await service.user('stranger')];
    const [laptop, phone, bobs] = [
      await registered(alice, 'Laptop'),
      await registered(alice, 'Phone'),
      await registered(bob, 'Secret'),
    ];
    const devices = service.app.get(Devices);
    const names = await devices.names(alice.id, [laptop, 'unregistered', phone, bobs, randomUUID()]);
    expect(Object.fromEntries(names)).toEqual({ [laptop]: 'Laptop', [phone]: 'Phone' });
    expect(await devices.names(alice.id, ['unregistered'])).toEqual(new Map());
  });
});

describe('a device id', () => {
  it('is 1 to 128 visible ASCII characters', () => {
    expect(['x', '!~', 'x'.repeat(128)].every((id) => DEVICE_ID.test(id))).toBe(true);
    expect(['', 'a b', 'ä', 'a\n', '\u0000', 'x'.repeat(129)].some((id) => DEVICE_ID.test(id))).toBe(false);
  });
});

describe('a deleted user', () => {
  it('leaves no device behind', async () => {
    const alice = await service.newcomer('leaving');
    const id = await registered(alice);
    await service.database.query('DELETE FROM users WHERE id = $1', [alice.id]);
    expect(await service.database.query('SELECT id FROM devices WHERE id = $1', [id])).toEqual([]);
  });
});
