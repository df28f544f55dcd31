import { execFile } from 'node:child_process';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { generateVapidKeys, WebPush } from '../../../src/domain/devices/web-push/web-push.service.js';
import { EventBus } from '../../../src/platform/events/index.js';
import { PushDispatcher } from '../../../src/domain/devices/web-push/push-dispatcher.js';
import { Outbound } from '../../../src/platform/outbound.js';
import { ASSETS, CHANGES, WorkspacePurge } from '../../../src/domain/workspaces/index.js';
import { halfAnUpload } from '../../kit/half-upload.js';
import { holdTimers } from '../../kit/held-timers.js';
import {
  eventually,
  holdTable,
  startService,
  stopIntervals,
  type TestService,
  TestSocket,
  type TestWorkspace,
} from '../../kit/index.js';
import {
  type Browser,
  PUBLIC_ADDRESS,
  startPushService,
  type TestPushService,
} from '../../kit/push-service.js';
import { describeDeep, itDeep } from '../../kit/rounds.js';

const VAPID = generateVapidKeys();
const ENV = {
  VAPID_PUBLIC_KEY: VAPID.publicKey,
  VAPID_PRIVATE_KEY: VAPID.privateKey,
  VAPID_SUBJECT: 'mailto:push@example.org',
};
const COMPILED_OUTBOUND = pathToFileURL(
  join(import.meta.dirname, '../../../dist/src/platform/outbound.js'),
).href;
const run = promisify(execFile);

const WINDOW_MS = 30_000;
/** How long an instance keeps a change only in memory. */
const GATHER_MS = 50;
const MINUTE_MS = 60_000;

let pushService: TestPushService;
let service: TestService;
beforeAll(async () => {
  pushService = await startPushService();
  // Longer than a test takes, so that no held push times out.
  service = await startService({ env: ENV, outbound: pushService.outbound({ timeoutMs: 60_000 }) });
});
afterAll(async () => {
  await service.close();
  await pushService.close();
});
afterEach(() => {
  service.clock.resume();
  expect(pushService.faults).toEqual([]);
});

let users = 0;
async function newWorkspace(at = service): Promise<TestWorkspace> {
  return (await at.user(`user-${users++}`)).workspace();
}

async function subscribe(
  { id, user }: TestWorkspace,
  deviceId: string,
  browser: Browser = pushService.browser(),
  endpoint = browser.endpoint,
): Promise<Browser> {
  const body = { workspaceId: id, deviceId, endpoint, keys: browser.keys };
  await user.post('/api/v1/devices/push-subscription').send(body).expect(201);
  return browser;
}

let contents = 0;
async function change(workspace: TestWorkspace, device = 'laptop'): Promise<void> {
  const { status } = await workspace.put('YQ', `content ${contents++}`, device);
  expect([200, 201]).toContain(status);
}

/** Publishes the event of an asset upload. */
function changeAssets({ id }: TestWorkspace): void {
  service.app.get(EventBus).publish({ topic: ASSETS, key: id });
}

/** Publishes the event of a write by the laptop, whose token may have expired with the moved clock. */
async function announceAndSend({ id }: TestWorkspace): Promise<void> {
  service.app.get(EventBus).publish({ topic: CHANGES, key: id }, { by: 'laptop' });
  await sendDue();
}

async function sendDue(at = service): Promise<void> {
  await at.app.get(WebPush).sendDue();
}

/** Twice, since an instance may start a push on its own after another has sent all that it found. */
async function allSendDue(instances: readonly TestService[]): Promise<void> {
  for (let pass = 0; pass < 2; pass++) await Promise.all(instances.map(sendDue));
}

async function changeAndSend(workspace: TestWorkspace, device?: string): Promise<void> {
  await change(workspace, device);
  await sendDue();
}

const typesOf = ({ received }: Browser): string[] =>
  received.map(({ payload }) => (JSON.parse(payload) as { type: string }).type);

const answering =
  (status: number, headers = {}): Browser['respond'] =>
  (response) =>
    void response.writeHead(status, headers).end();

/** Accepts the request and never answers. */
const silent = (): void => undefined;

async function subscribedDevices({ id }: TestWorkspace): Promise<string[]> {
  const rows = await service.database.query<{ device_id: string }>(
    'SELECT device_id FROM push_subscriptions WHERE workspace_id = $1 ORDER BY device_id',
    [id],
  );
  return rows.map((row) => row.device_id);
}

describe('a push', () => {
  it('contains only which workspace has changed, encrypted for the browser', async () => {
    const workspace = await newWorkspace();
    const phone = await subscribe(workspace, 'phone');
    await changeAndSend(workspace);
    changeAssets(workspace);
    service.clock.advance(WINDOW_MS);
    await sendDue();
    expect(phone.received.map(({ payload }) => JSON.parse(payload) as object)).toEqual([
      { type: 'changes', workspaceId: workspace.id },
      { type: 'assets-changed', workspaceId: workspace.id },
    ]);
  });

  it('is a request of RFC 8030, signed with the VAPID key', async () => {
    const workspace = await newWorkspace();
    const phone = await subscribe(workspace, 'phone');
    await changeAndSend(workspace);
    const [push] = phone.received;
    expect(push).toMatchObject({
      method: 'POST',
      headers: { 'content-encoding': 'aes128gcm', ttl: '86400', urgency: 'normal' },
      vapidKey: VAPID.publicKey,
      claims: { sub: 'mailto:push@example.org', aud: pushService.origin },
    });
    const secondsLeft = push!.claims.exp! - Date.now() / 1000;
    expect(secondsLeft).toBeGreaterThan(0);
    expect(secondsLeft).toBeLessThanOrEqual(24 * 60 * 60);
  });

  it('has a topic that replaces older pushes of its kind and reveals nothing', async () => {
    const workspace = await newWorkspace();
    const [phone, tablet] = [await subscribe(workspace, 'phone'), await subscribe(workspace, 'tablet')];
    await changeAndSend(workspace);
    service.clock.advance(WINDOW_MS);
    await changeAndSend(workspace);
    changeAssets(workspace);
    service.clock.advance(WINDOW_MS);
    await sendDue();
    const topics = phone.received.map(({ headers }) => headers.topic as string);
    expect(topics).toEqual([expect.stringMatching(/^[A-Za-z0-9_-]{1,32}$/), topics[0], expect.anything()]);
    expect(topics[2]).not.toBe(topics[0]);
    expect(tablet.received[0]!.headers.topic).not.toBe(topics[0]); // no two subscriptions can be linked by it
  });

  it('is sent automatically soon after the change', async () => {
    const workspace = await newWorkspace();
    const phone = pushService.browser();
    const arrived = new Promise<void>((resolve) => {
      phone.respond = (response) => {
        response.writeHead(201).end();
        resolve();
      };
    });
    await subscribe(workspace, 'phone', phone);
    await change(workspace);
    await arrived;
    expect(typesOf(phone)).toEqual(['changes']);
  });
});

describe('the recipients of a push', () => {
  it('are all other devices of the workspace, not the one that made the change', async () => {
    const [workspace, other] = [await newWorkspace(), await newWorkspace()];
    const laptop = await subscribe(workspace, 'laptop');
    const phone = await subscribe(workspace, 'phone');
    const tablet = await subscribe(workspace, 'tablet');
    const elsewhere = await subscribe(other, 'phone');
    await changeAndSend(workspace, 'laptop');
    expect([laptop, phone, tablet, elsewhere].map(typesOf)).toEqual([[], ['changes'], ['changes'], []]);
  });

  it('are all devices when two devices change something at the same time', async () => {
    const workspace = await newWorkspace();
    const [laptop, phone] = [await subscribe(workspace, 'laptop'), await subscribe(workspace, 'phone')];
    await change(workspace, 'laptop');
    await change(workspace, 'phone');
    await sendDue();
    expect([laptop, phone].map(typesOf)).toEqual([['changes'], ['changes']]);
  });

  it('are all devices when the author of the change is unknown', async () => {
    const workspace = await newWorkspace();
    const laptop = await subscribe(workspace, 'laptop');
    await changeAndSend(workspace, 'laptop');
    const [version] = await workspace.versions('YQ');
    await workspace.restore('YQ', version!.id, null).expect(200);
    await sendDue();
    expect(typesOf(laptop)).toEqual(['changes']);
  });

  it.each([
    ['a deletion', (workspace: TestWorkspace) => workspace.delete('YQ')],
    ['a push of deletions', (workspace: TestWorkspace) => workspace.push(1, ['YQ'])],
  ])('include the other devices for %s', async (_, write) => {
    const workspace = await newWorkspace();
    await change(workspace);
    await sendDue();
    const [laptop, phone] = [await subscribe(workspace, 'laptop'), await subscribe(workspace, 'phone')];
    await write(workspace).expect(200);
    await sendDue();
    expect([laptop, phone].map(typesOf)).toEqual([[], ['changes']]);
  });

  it('are none for a write that changed nothing', async () => {
    const workspace = await newWorkspace();
    await workspace.put('YQ', 'the same').expect(201);
    await sendDue();
    const phone = await subscribe(workspace, 'phone');
    await workspace.put('YQ', 'the same').expect(200);
    await workspace.put('YQ', 'refused').set('X-Content-Hash', '0'.repeat(64)).expect(400);
    await sendDue();
    expect(phone.requests).toBe(0);
  });

  itDeep('exclude a device with a live socket, whichever instance it is connected to', async () => {
    const workspace = await newWorkspace();
    const other = await startService({ env: ENV, beside: service, outbound: pushService.outbound() });
    const there = workspace.as(workspace.user.at(other.url));
    const [phone, tablet] = [await subscribe(workspace, 'phone'), await subscribe(workspace, 'tablet')];
    const socket = await TestSocket.join(there, 'phone');
    try {
      await service.database.eventually(`SELECT FROM presence WHERE workspace_id = '${workspace.id}'`);
      await changeAndSend(workspace);
      await sendDue(other);
      expect([phone, tablet].map(typesOf)).toEqual([[], ['changes']]);
    } finally {
      await socket.close();
      await other.close();
    }
    await changeAndSend(workspace);
    expect(typesOf(phone)).toEqual(['changes']);
  });

  it('exclude a device while it is live, and include it without delay once it is not', async () => {
    const workspace = await newWorkspace();
    const [phone, tablet] = [await subscribe(workspace, 'phone'), await subscribe(workspace, 'tablet')];
    const live = new Set(['phone']);
    service.app.get(WebPush).skipWhen(async (id, deviceIds) => {
      await Promise.resolve();
      return new Set(id === workspace.id ? deviceIds.filter((deviceId) => live.has(deviceId)) : []);
    });
    await changeAndSend(workspace);
    expect([phone, tablet].map(typesOf)).toEqual([[], ['changes']]);
    live.clear();
    await changeAndSend(workspace);
    expect([phone, tablet].map(typesOf)).toEqual([['changes'], ['changes']]);
  });

  it('are all devices when live sockets cannot be determined', async () => {
    const workspace = await newWorkspace();
    const phone = await subscribe(workspace, 'phone');
    service.app.get(WebPush).skipWhen((id) => {
      if (id === workspace.id) throw new Error('presence is away');
      return Promise.resolve(new Set());
    });
    await changeAndSend(workspace);
    expect(typesOf(phone)).toEqual(['changes']);
  });

  it('are none after the workspace, the device or the subscription was deleted', async () => {
    const workspace = await newWorkspace();
    const { user } = workspace;
    const { id } = (await user.post('/api/v1/devices').send({ name: 'Phone', platform: 'ios' }).expect(201))
      .body;
    const all = [
      await subscribe(workspace, id),
      await subscribe(workspace, 'b'),
      await subscribe(workspace, 'c'),
    ];
    await user.delete(`/api/v1/devices/${id}`).expect(200);
    await user.delete(`/api/v1/devices/push-subscription/${workspace.id}/b`).expect(200);
    await service.database.query('UPDATE workspaces SET deleted_at = $2 WHERE id = $1', [
      workspace.id,
      service.clock.now(),
    ]);
    await announceAndSend(workspace); // an upload before the deletion could be sent before it
    expect(all.map(({ requests }) => requests)).toEqual([0, 0, 0]);
    await service.app.get(WorkspacePurge).resume();
    await service.app.get(WorkspacePurge).idle();
    expect(await subscribedDevices(workspace)).toEqual([]);
  });
});

describe('one push in 30 seconds', () => {
  it('is sent at once; changes within the window are sent as one at its end, and then nothing', async () => {
    const workspace = await newWorkspace();
    const phone = await subscribe(workspace, 'phone');
    service.clock.stopAt(service.clock.now());
    await changeAndSend(workspace);
    expect(phone.received).toHaveLength(1);

    for (let i = 0; i < 5; i++) await changeAndSend(workspace);
    service.clock.advance(WINDOW_MS - 1);
    await changeAndSend(workspace);
    expect(phone.received).toHaveLength(1);

    service.clock.advance(1);
    await sendDue();
    expect(phone.received).toHaveLength(2);

    service.clock.advance(10 * WINDOW_MS);
    await sendDue();
    expect(phone.received).toHaveLength(2);
  });

  it('begins a new window with the trailing push', async () => {
    const workspace = await newWorkspace();
    const phone = await subscribe(workspace, 'phone');
    service.clock.stopAt(service.clock.now());
    await changeAndSend(workspace);
    await change(workspace);
    service.clock.advance(WINDOW_MS);
    await sendDue();
    service.clock.advance(WINDOW_MS - 1);
    await changeAndSend(workspace);
    expect(phone.received).toHaveLength(2);
    service.clock.advance(1);
    await sendDue();
    expect(phone.received).toHaveLength(3);
  });

  it('applies to each device and each workspace separately', async () => {
    const workspace = await newWorkspace();
    const other = await workspace.user.workspace();
    const phone = pushService.browser();
    await subscribe(workspace, 'phone', phone);
    await changeAndSend(workspace);
    const tablet = await subscribe(workspace, 'tablet');
    await subscribe(other, 'phone', phone); // a browser has one subscription for everything
    await changeAndSend(workspace);
    await changeAndSend(other);
    expect(
      phone.received.map(({ payload }) => (JSON.parse(payload) as { workspaceId: string }).workspaceId),
    ).toEqual([workspace.id, other.id]);
    expect(tablet.received).toHaveLength(1);
  });

  it('loses neither kind: changes first, asset changes in the next window', async () => {
    const workspace = await newWorkspace();
    const phone = await subscribe(workspace, 'phone');
    changeAssets(workspace);
    await announceAndSend(workspace); // at the same moment: the first one alone would be sent at once
    expect(typesOf(phone)).toEqual(['changes']);
    service.clock.advance(WINDOW_MS);
    await sendDue();
    expect(typesOf(phone)).toEqual(['changes', 'assets-changed']);
    service.clock.advance(WINDOW_MS);
    await sendDue();
    expect(phone.received).toHaveLength(2);
  });

  it('is not reset by subscribing again, and the waiting push goes to the new endpoint', async () => {
    const workspace = await newWorkspace();
    const before = await subscribe(workspace, 'phone');
    await changeAndSend(workspace);
    await changeAndSend(workspace);
    const after = await subscribe(workspace, 'phone');
    await sendDue();
    expect(after.received).toHaveLength(0);
    service.clock.advance(WINDOW_MS);
    await sendDue();
    expect([before, after].map(typesOf)).toEqual([['changes'], ['changes']]);
  });
});

describe('several instances', () => {
  it('send each push once, even when several look at the same time', async () => {
    const other = await startService({ env: ENV, beside: service, outbound: pushService.outbound() });
    try {
      const workspaces = [await newWorkspace(), await newWorkspace(), await newWorkspace()];
      const browsers: Browser[] = [];
      for (const workspace of workspaces)
        for (let i = 0; i < 5; i++) browsers.push(await subscribe(workspace, `device-${i}`));
      for (let round = 1; round <= 3; round++) {
        const begunAt = service.clock.now().getTime();
        for (const workspace of workspaces) {
          await change(workspace);
          await change(workspace.as(workspace.user.at(other.url)));
        }
        await allSendDue([service, other, service, other]);
        // One a window; on a slow machine the round may take longer than one.
        const windows = Math.floor((service.clock.now().getTime() - begunAt) / WINDOW_MS);
        const counts = browsers.map(({ received }) => received.length);
        expect(counts.filter((count) => count < round || count > round + windows)).toEqual([]);
        service.clock.advance(WINDOW_MS);
        await allSendDue([service, other]);
        service.clock.advance(WINDOW_MS);
        for (const browser of browsers) browser.received.splice(round); // a late second change adds one
      }
    } finally {
      await other.close();
    }
  });

  it('leave out the device that made the change, whichever instance it was made at', async () => {
    const other = await startService({ env: ENV, beside: service, outbound: pushService.outbound() });
    try {
      const workspace = await newWorkspace();
      const [laptop, phone] = [await subscribe(workspace, 'laptop'), await subscribe(workspace, 'phone')];
      const heard = new Promise<void>((resolve) =>
        service.app.get(EventBus).on(CHANGES, (key) => key === workspace.id && resolve()),
      );
      await change(workspace.as(workspace.user.at(other.url)), 'laptop');
      await heard;
      await allSendDue([other, service]);
      expect([laptop, phone].map(typesOf)).toEqual([[], ['changes']]);
    } finally {
      await other.close();
    }
  });

  itDeep('take over a push that one could not send before its shutdown', async () => {
    const base = await startService();
    const other = await startService({ env: ENV, beside: base, outbound: pushService.outbound() });
    const workspace = await newWorkspace(base);
    const phone = await subscribe(workspace, 'phone');
    const arrived = new Promise<void>((resolve) => (phone.respond = () => resolve())); // and no answer
    await change(workspace.as(workspace.user.at(other.url)));
    await arrived;
    await other.close(); // does not wait for the five seconds that the push may take
    phone.respond = answering(201);
    base.clock.advance(MINUTE_MS);
    const heir = await startService({ env: ENV, beside: base, outbound: pushService.outbound() });
    await sendDue(heir);
    expect(phone.requests).toBe(2);
    await heir.close();
    await base.close();
  });

  itDeep('take over changes that were uploaded while one was shut down', async () => {
    const base = await startService();
    const other = await startService({ env: ENV, beside: base, outbound: pushService.outbound() });
    const workspace = await newWorkspace(base);
    const phone = await subscribe(workspace, 'phone');
    const upload = await halfAnUpload(base.database, workspace.as(workspace.user.at(other.url)), 'YQ');
    const closed = other.close();
    await eventually(() => expect(other.app.getHttpServer().listening).toBe(false));
    expect(await upload()).toBe(201);
    await closed;
    const heir = await startService({ env: ENV, beside: base, outbound: pushService.outbound() });
    await sendDue(heir);
    expect(typesOf(phone)).toEqual(['changes']);
    await heir.close();
    await base.close();
  });

  itDeep('take over changes that another had only in memory', async () => {
    const base = await startService();
    const other = await startService({ env: ENV, beside: base, outbound: pushService.outbound() });
    const workspace = await newWorkspace(base);
    const phone = await subscribe(workspace, 'phone');
    stopIntervals(other);
    const gathering = holdTimers(GATHER_MS, GATHER_MS);
    try {
      other.app.get(EventBus).publish({ topic: CHANGES, key: workspace.id });
      await other.close();
    } finally {
      gathering.release();
    }
    expect(phone.requests).toBe(0);
    const heir = await startService({ env: ENV, beside: base, outbound: pushService.outbound() });
    await sendDue(heir);
    expect(typesOf(phone)).toEqual(['changes']);
    await heir.close();
    await base.close();
  });
});

describe('a response of the push service', () => {
  it.each([404, 410])('with %d removes the subscription', async (status) => {
    const workspace = await newWorkspace();
    const phone = await subscribe(workspace, 'phone');
    await subscribe(workspace, 'tablet');
    phone.respond = answering(status);
    await changeAndSend(workspace);
    expect(await subscribedDevices(workspace)).toEqual(['tablet']);
  });

  it('with 410 keeps a subscription that was renewed meanwhile', async () => {
    const workspace = await newWorkspace();
    const [before, after] = [await subscribe(workspace, 'phone'), pushService.browser()];
    before.respond = async (response: ServerResponse) => {
      await subscribe(workspace, 'phone', after);
      response.writeHead(410).end();
    };
    await changeAndSend(workspace);
    expect(await subscribedDevices(workspace)).toEqual(['phone']);
    service.clock.advance(WINDOW_MS);
    await changeAndSend(workspace);
    expect(typesOf(after)).toEqual(['changes']);
  });

  it('with 101 fails the push and delays no other push', async () => {
    const workspace = await newWorkspace();
    const evil = await subscribe(workspace, 'evil');
    evil.respond = (response: ServerResponse) => {
      response.socket?.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n');
    };
    const phone = await subscribe(workspace, 'phone');
    await changeAndSend(workspace);
    expect(typesOf(phone)).toEqual(['changes']);
    expect(service.logged()).toContain('"deviceId":"evil","reason":"status 101"');
  });

  it.each([500, 503, 429])('with %d causes a retry after a minute', async (status) => {
    const workspace = await newWorkspace();
    const phone = await subscribe(workspace, 'phone');
    service.clock.stopAt(service.clock.now());
    phone.respond = answering(status);
    await changeAndSend(workspace);
    phone.respond = answering(201);
    service.clock.advance(MINUTE_MS - 1);
    await changeAndSend(workspace);
    expect(phone.requests).toBe(1);
    service.clock.advance(1);
    await sendDue();
    service.clock.advance(WINDOW_MS);
    await sendDue();
    expect(phone.requests).toBe(2);
  });

  it('with 429 delays the retry by Retry-After', async () => {
    const workspace = await newWorkspace();
    const phone = await subscribe(workspace, 'phone');
    service.clock.stopAt(service.clock.now());
    phone.respond = answering(429, { 'retry-after': '600' });
    await announceAndSend(workspace);
    service.clock.advance(10 * MINUTE_MS - 1);
    await announceAndSend(workspace);
    expect(phone.requests).toBe(1);
    service.clock.advance(1);
    await sendDue();
    expect(phone.requests).toBe(2);
  });

  it('with 500 causes six attempts, and the next change starts anew', async () => {
    const workspace = await newWorkspace();
    const phone = await subscribe(workspace, 'phone');
    phone.respond = answering(500);
    await announceAndSend(workspace);
    for (let i = 0; i < 40; i++) {
      service.clock.advance(60 * MINUTE_MS);
      await sendDue();
    }
    expect(phone.requests).toBe(6);
    phone.respond = answering(201);
    await announceAndSend(workspace);
    service.clock.advance(WINDOW_MS);
    await announceAndSend(workspace);
    expect(phone.requests).toBe(8); // the success has ended the backoff
    expect(await subscribedDevices(workspace)).toEqual(['phone']);
  });

  it.each([400, 401, 403, 413, 302])('with %d drops the push until the next change', async (status) => {
    const workspace = await newWorkspace();
    const [phone, target] = [await subscribe(workspace, 'phone'), pushService.browser()];
    phone.respond = answering(status, { location: target.endpoint });
    await announceAndSend(workspace);
    service.clock.advance(60 * MINUTE_MS);
    await sendDue();
    expect(phone.requests).toBe(1);
    await announceAndSend(workspace);
    expect(phone.requests).toBe(2);
    expect(target.requests).toBe(0); // redirects are not followed
  });

  it('is read only to the end of its head: an endless body is cut off', async () => {
    const workspace = await newWorkspace();
    const phone = await subscribe(workspace, 'phone');
    const cutOff = new Promise<void>((resolve) => {
      phone.respond = (response) => {
        response.on('error', () => undefined).on('close', resolve);
        response.writeHead(201);
        const chunk = Buffer.alloc(64 * 1024);
        const pour = (): void => {
          if (response.write(chunk)) setImmediate(pour);
        };
        response.on('drain', pour);
        pour();
      };
    });
    await changeAndSend(workspace);
    await cutOff;
    expect(phone.received).toHaveLength(1);
    expect(await subscribedDevices(workspace)).toEqual(['phone']);
  });
});

describeDeep('an unreachable push service', () => {
  let hasty: TestService;
  beforeAll(async () => {
    hasty = await startService({ env: ENV, outbound: pushService.outbound({ timeoutMs: 5_000 }) });
  });
  afterAll(() => hasty.close());

  it('fails no write, and no push to other services', async () => {
    const workspace = await newWorkspace(hasty);
    const hanging = await subscribe(workspace, 'hanging');
    hanging.respond = silent;
    const nobody = pushService.browser();
    await subscribe(workspace, 'refusing', nobody, 'https://push.example.org:1/x');
    await subscribe(workspace, 'nameless', nobody, 'https://nowhere.example.org/x');
    pushService.names.silence('silent.example.org');
    await subscribe(workspace, 'unresolved', nobody, 'https://silent.example.org/x');
    const phone = await subscribe(workspace, 'phone');

    await change(workspace);
    const sent = sendDue(hasty);
    await change(workspace);
    await sent;
    expect(typesOf(phone)).toEqual(['changes']);
    expect(await hasty.database.query('SELECT FROM push_subscriptions')).toHaveLength(5);
    for (const line of [
      '"deviceId":"hanging","reason":"no answer in time"',
      '"deviceId":"refusing","reason":"ECONNREFUSED"',
      '"deviceId":"nameless","reason":"ENOTFOUND"',
    ])
      expect(hasty.logged()).toContain(line);
    // Whichever gives up first, the push or the look-up of its name.
    expect(/"deviceId":"unresolved","reason":"(?:no answer in time|ETIMEOUT)"/.test(hasty.logged())).toBe(
      true,
    );
  });
});

describe('concurrent pushes', () => {
  let held: ServerResponse[];
  let browsers: Browser[];
  beforeEach(() => {
    held = [];
    browsers = [];
  });

  const arrived = (): number => browsers.reduce((sum, { requests }) => sum + requests, 0);

  /** Holds each push until the test answers it. */
  async function subscribeHolding(workspace: TestWorkspace, devices: number): Promise<void> {
    for (let i = 0; i < devices; i++) {
      const browser = await subscribe(workspace, `device-${i}`);
      browser.respond = (response) => void held.push(response);
      browsers.push(browser);
    }
  }

  itDeep('are sent 32 at a time; the others follow as soon as there is room', async () => {
    const workspaces: TestWorkspace[] = [];
    for (let i = 0; i < 10; i++) workspaces.push(await newWorkspace());
    for (const workspace of workspaces) await subscribeHolding(workspace, 4);
    for (const workspace of workspaces) await change(workspace);
    await eventually(() => expect(held.length).toBe(32));
    for (const browser of browsers) browser.respond = answering(201);
    expect(arrived()).toBe(32);
    for (const response of held) response.writeHead(201).end();
    await eventually(() => expect(arrived()).toBe(40));
    await sendDue();
    expect(browsers.map(typesOf)).toEqual(browsers.map(() => ['changes']));
  });

  itDeep('are sent four at a time per owner over all workspaces, and delay no other owner', async () => {
    const workspace = await newWorkspace();
    const other = await workspace.user.workspace();
    for (const one of [workspace, other]) await subscribeHolding(one, 20);
    for (const one of [workspace, other]) await change(one);
    await eventually(() => expect(held.length).toBe(4));
    const bystander = await newWorkspace();
    const phone = await subscribe(bystander, 'phone');
    await change(bystander);
    await eventually(() => expect(typesOf(phone)).toEqual(['changes']));
    expect(arrived()).toBe(4);
    held.shift()!.writeHead(201).end();
    await eventually(() => expect(held.length).toBe(4));
    expect(arrived()).toBe(5);
    for (const browser of browsers) browser.respond = answering(201);
    for (const response of held) response.writeHead(201).end();
    await eventually(() => expect(arrived()).toBe(40));
    await sendDue();
    expect(browsers.map(typesOf)).toEqual(browsers.map(() => ['changes']));
  });

  it('are not finished while those without room are being claimed', async () => {
    const workspace = await newWorkspace();
    await subscribeHolding(workspace, 5);
    await change(workspace);
    const sent = sendDue();
    await eventually(() => expect(held.length).toBe(4));
    const claims = await holdTable(service.database, 'push_subscriptions');
    for (const browser of browsers) browser.respond = answering(201);
    held.shift()!.writeHead(201).end();
    await claims.waiting(1);
    for (const response of held) response.writeHead(201).end();
    await service.app.get(PushDispatcher).finish();
    await claims.release();
    await sent;
    expect(browsers.map(typesOf)).toEqual(browsers.map(() => ['changes']));
  });
});

describe('a failing database', () => {
  it('fails no write, and the push is sent once the database recovers', async () => {
    const workspace = await newWorkspace();
    const phone = await subscribe(workspace, 'phone');
    await service.database.query('ALTER TABLE push_subscriptions RENAME TO elsewhere');
    try {
      await changeAndSend(workspace);
    } finally {
      await service.database.query('ALTER TABLE elsewhere RENAME TO push_subscriptions');
    }
    await sendDue();
    expect(typesOf(phone)).toEqual(['changes']);
  });
});

describe('the target of a push', () => {
  const HOME = 'home.example.org';

  it.each([
    ['to this machine', ['127.0.0.1']],
    ['into a private network', ['10.0.0.7']],
    ["to a cloud's metadata", ['169.254.169.254']],
    ['to this machine by IPv6', ['::1']],
    ['into a private network by IPv6', ['fd00::1']],
    ['to IPv4 in IPv6', ['::ffff:127.0.0.1']],
    ['to both, the public address first', [PUBLIC_ADDRESS, '192.168.1.1']],
    ['to both, the public address by IPv4', [PUBLIC_ADDRESS, '::1']],
  ])('is refused when its name resolves %s at the time of sending', async (_, addresses) => {
    const workspace = await newWorkspace();
    pushService.names.point(HOME, [PUBLIC_ADDRESS]);
    const browser = pushService.browser();
    await subscribe(workspace, 'phone', browser, browser.endpoint.replace('push.example.org', HOME));
    pushService.names.point(HOME, addresses);
    const before = pushService.dialled.length;
    await changeAndSend(workspace);
    expect(pushService.dialled.slice(before)).toEqual([]);
    expect(browser.requests).toBe(0);
    expect(service.logged()).toContain('the host has an address that is not public');
  });

  it('is refused when an older row has a private address', async () => {
    const workspace = await newWorkspace();
    const browser = await subscribe(workspace, 'phone');
    const endpoint = browser.endpoint.replace('push.example.org', '127.0.0.1');
    await service.database.query('UPDATE push_subscriptions SET endpoint = $2 WHERE workspace_id = $1', [
      workspace.id,
      endpoint,
    ]);
    await changeAndSend(workspace);
    expect(browser.requests).toBe(0);
    expect(await subscribedDevices(workspace)).toEqual(['phone']);
  });

  it('is exactly the address that was checked: the name is resolved once', async () => {
    const workspace = await newWorkspace();
    const browser = pushService.browser();
    const name = 'rebinding.example.org';
    // Public when it is checked, and this machine when it is resolved again.
    pushService.names.point(name, [PUBLIC_ADDRESS], ['127.0.0.1']);
    const before = pushService.dialled.length;
    await subscribe(workspace, 'phone', browser, browser.endpoint.replace('push.example.org', name));
    await changeAndSend(workspace);
    expect(pushService.names.asked.filter((asked) => asked.endsWith(` ${name}`)).sort()).toEqual([
      `A ${name}`,
      `AAAA ${name}`,
    ]);
    expect(pushService.dialled.slice(before)).toEqual([PUBLIC_ADDRESS]);
  });

  describe('the certificate of a push service', () => {
    const letter = { headers: {}, body: Buffer.from('push') };

    it('is refused for another name', async () => {
      const browser = pushService.browser();
      const name = 'impostor.example.org';
      pushService.names.point(name, [PUBLIC_ADDRESS]);
      const url = new URL(browser.endpoint.replace('push.example.org', name));
      await expect(pushService.outbound().post(url, letter)).rejects.toThrow(/altnames/);
      expect(browser.requests).toBe(0);
    });

    it('is refused from an unknown authority', async () => {
      const browser = pushService.browser();
      const dnsServers = [pushService.names.address];
      const outbound = new Outbound({ dnsServers, dial: () => '127.0.0.1' });
      await expect(outbound.post(new URL(browser.endpoint), letter)).rejects.toThrow(/certificate/);
      expect(browser.requests).toBe(0);
    });

    itDeep('is verified even with NODE_TLS_REJECT_UNAUTHORIZED=0', async () => {
      const browser = pushService.browser();
      const script = `
        import { Outbound } from ${JSON.stringify(COMPILED_OUTBOUND)};
        const outbound = new Outbound({ dnsServers: ['${pushService.names.address}'], dial: () => '127.0.0.1' });
        const sent = outbound.post(new URL('${browser.endpoint}'), { headers: {}, body: Buffer.from('push') });
        console.log(await sent.then(({ status }) => status, ({ code }) => code));`;
      const env = { ...process.env, NODE_TLS_REJECT_UNAUTHORIZED: '0' };
      const { stdout } = await run(process.execPath, ['--input-type=module', '-e', script], { env });
      expect(stdout.trim()).toBe('UNABLE_TO_VERIFY_LEAF_SIGNATURE');
      expect(browser.requests).toBe(0);
    });
  });
});

describe('endpoints and keys', () => {
  it('appear in no log line, nor does the VAPID key', async () => {
    const workspace = await newWorkspace();
    const browsers = [
      await subscribe(workspace, 'a'),
      await subscribe(workspace, 'b'),
      await subscribe(workspace, 'c'),
    ];
    browsers[0]!.respond = answering(500);
    browsers[1]!.respond = answering(400);
    const lost = browsers[2]!.endpoint.replace('push.example.org', 'lost.example.org');
    await subscribe(workspace, 'c', browsers[2], lost);
    await changeAndSend(workspace);
    const log = service.logged();
    expect(log).toContain('a push was not delivered');
    for (const { endpoint, keys } of browsers)
      for (const secret of [new URL(endpoint).pathname, keys.p256dh, keys.auth])
        expect(log).not.toContain(secret);
    expect(log).not.toContain(VAPID.privateKey);
  });
});

describeDeep('an instance without VAPID keys', () => {
  it('records and sends nothing', async () => {
    const off = await startService({ beside: service, outbound: pushService.outbound() });
    try {
      const workspace = await newWorkspace();
      const phone = await subscribe(workspace, 'phone');
      await change(workspace.as(workspace.user.at(off.url)));
      await sendDue(off);
      await sendDue();
      const [row] = await service.database.query(
        'SELECT due_at FROM push_subscriptions WHERE workspace_id = $1',
        [workspace.id],
      );
      expect(row).toEqual({ due_at: null });
      expect(phone.requests).toBe(0);
    } finally {
      await off.close();
    }
  });
});
