import { once } from 'node:events';
import WebSocket, { WebSocketServer } from 'ws';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Session } from '../../../client/src/core/api/index.js';
import { LiveRoom, LiveRoomClosed, type LiveRoomOptions } from '../../../client/src/core/live-room/index.js';
import {
  eventually,
  startService,
  type TestService,
  type TestUser,
  type TestWorkspace,
} from '../../kit/index.js';
import { TestAssets } from '../../kit/assets.js';
import { holdTimers } from '../../kit/held-timers.js';
import { TcpLink } from '../../kit/tcp-link.js';
import { itDeep } from '../../kit/rounds.js';

let service: TestService;
let link: TcpLink;
let user: TestUser;
let workspace: TestWorkspace;
const rooms: LiveRoom[] = [];
beforeAll(async () => {
  service = await startService();
  link = await TcpLink.before(service.url);
  user = await service.user('ada');
});
beforeEach(async () => {
  workspace = await user.workspace();
});
afterEach(async () => {
  await Promise.all(rooms.splice(0).map((room) => room.close()));
  link.mend();
});
afterAll(async () => {
  await link.close();
  await service.close();
});

const withToken = (url = link.url, token = user.token, silenceMs?: number) =>
  Session.withAccessToken(url, token, { ...(silenceMs && { silenceMs }), retries: { attempts: 1 } });

/** A room with a record of its news, its connections and the requested pauses. */
function listen(options: Partial<LiveRoomOptions> = {}) {
  const told: string[] = [];
  const pauses: number[] = [];
  const connected: boolean[] = [];
  const room = new LiveRoom({
    session: withToken(),
    workspaceId: workspace.id,
    deviceId: 'phone',
    cursor: () => 0,
    WebSocket: WebSocket,
    onNews: (what) => told.push(what),
    onConnected: (isConnected) => connected.push(isConnected),
    random: () => 1,
    sleep: async (ms) => {
      pauses.push(ms);
      await new Promise((resolve) => setTimeout(resolve, 5));
    },
    ...options,
  });
  rooms.push(room);
  return { room, told, pauses, connected };
}

const isConnected = ({ connected }: { connected: boolean[] }) =>
  eventually(() => expect(connected.at(-1)).toBe(true));

describe('a live room', () => {
  it('reports changes by other devices, changes of assets, and each new connection', async () => {
    const heard = listen();
    const connected = ['changes', 'assets-changed'];
    await eventually(() => expect(heard.told).toEqual(connected));
    await workspace.put('YQ', 'one').expect(201);
    await eventually(() => expect(heard.told).toEqual([...connected, 'changes']));
    await TestAssets.of(workspace).create('aW1hZ2U').expect(201);
    await eventually(() => expect(heard.told).toEqual([...connected, ...connected]));
  });

  it('uses the WebSocket of the platform, and throws without one', async () => {
    const platform = globalThis as { WebSocket?: unknown };
    const { WebSocket: own } = platform;
    try {
      platform.WebSocket = undefined;
      expect(() => listen({ WebSocket: undefined as never })).toThrow(TypeError);
      platform.WebSocket = WebSocket;
      await isConnected(listen({ WebSocket: undefined as never }));
    } finally {
      platform.WebSocket = own;
    }
  });

  it('connects again when the connection is cut, and reports that something may have changed', async () => {
    const heard = listen();
    await isConnected(heard);
    link.cut();
    await eventually(() => expect(heard.connected).toEqual([true, false, true]));
    expect(heard.told.filter((what) => what === 'changes')).toHaveLength(2);
    expect(heard.pauses).toEqual([500]);
  });

  it('connects at once when it is woken', async () => {
    const heard = listen({ random: () => 1e6, sleep: undefined as never });
    await isConnected(heard);
    link.cut();
    await eventually(() => {
      heard.room.wake();
      expect(heard.connected).toEqual([true, false, true]);
    });
  });

  itDeep('notices a connection that has fallen silent', async () => {
    const session = withToken(link.url, user.token, 2_000); // its requests are silenced too
    const heard = listen({ session, times: { silenceMs: 600 } });
    await isConnected(heard);
    link.silence();
    await eventually(() => expect(heard.connected.at(-1)).toBe(false));
    link.mend();
    await isConnected(heard);
  });

  it('keeps an idle connection, because its pings are answered', async () => {
    const [silenceMs, pingMs] = [3_600_000, 1_200_000];
    const timers = holdTimers(pingMs);
    try {
      const heard = listen({ times: { silenceMs } });
      const areBegun = (count: number) =>
        eventually(() => expect([timers.started, timers.running()]).toEqual([count, [silenceMs, pingMs]]));
      await areBegun(2);
      for (let ping = 1; ping <= 3; ping++) {
        timers.goOff(pingMs);
        await areBegun(2 + 2 * ping); // restarted by the answer
      }
      expect(heard.connected).toEqual([true]);
    } finally {
      timers.release();
    }
  });

  it('gives up a connection without a welcome, and tries again after growing pauses', async () => {
    const silent = await impostor(() => undefined);
    const heard = listen({ session: withToken(silent.url), times: { welcomeMs: 200 } });
    await eventually(() => expect(heard.pauses.length).toBeGreaterThan(2));
    expect(heard.pauses.slice(0, 3)).toEqual([1_000, 2_000, 4_000]);
    expect(heard.told).toEqual([]);
    await heard.room.close();
    await silent.close();
  });

  it.each(['nonsense', '7', 'null', '{"type":"welcome","cursor":"x"}', Buffer.from([1, 2])])(
    'reports nothing for a malformed message: %s',
    async (message) => {
      const hostile = await impostor((socket) => socket.send(message));
      const heard = listen({ session: withToken(hostile.url), times: { welcomeMs: 300 } });
      await eventually(() => expect(heard.pauses.length).toBeGreaterThan(1));
      expect(heard.told).toEqual([]);
      await heard.room.close();
      await hostile.close();
    },
  );

  it.each([
    [4404, 'workspace deleted'],
    [4403, 'access denied'],
    [1009, 'client at fault'],
  ])('is closed for good by code %d', async (code, reason) => {
    const closing = await impostor((socket) => socket.close(code));
    const { room, pauses } = listen({ session: withToken(closing.url) });
    await expect(room.closed).rejects.toMatchObject({ name: 'LiveRoomClosed', reason });
    expect(pauses).toEqual([]);
    await closing.close();
  });

  it.each([
    [1001, [500, 500, 500]],
    [4401, [500, 500, 500]],
    [1013, [4_000, 32_000, 60_000]],
    [4429, [4_000, 32_000, 60_000]],
  ])('connects again after code %d, with the pauses of that code', async (code, expected) => {
    const closing = await impostor((socket) => {
      socket.send('{"type":"welcome","cursor":0,"deviceCount":1}');
      socket.close(code);
    });
    const { room, pauses } = listen({ session: withToken(closing.url) });
    await eventually(() => expect(pauses.length).toBeGreaterThan(2));
    expect(pauses.slice(0, 3)).toEqual(expected);
    await room.close();
    await closing.close();
  });

  it('ends when the workspace is deleted, the token is refused, or it is closed', async () => {
    const heard = listen();
    await isConnected(heard);
    await user.delete(workspace.path).expect(200);
    await expect(heard.room.closed).rejects.toMatchObject({ reason: 'workspace deleted' });
    const refused = listen({ session: withToken(link.url, 'no-token') });
    await expect(refused.room.closed).rejects.toThrow(LiveRoomClosed);
    await expect(refused.room.closed).rejects.toMatchObject({ reason: 'signed out' });
    workspace = await user.workspace();
    const closed = listen();
    await isConnected(closed);
    await closed.room.close();
    await closed.room.closed;
    expect(closed.connected).toEqual([true, false]);
  });
});

/** A server that answers every request with `{}`, and calls `whenHello` once a socket has said hello. */
async function impostor(whenHello: (socket: WebSocket) => void) {
  const server = createServer((_, response) => response.end('{}'));
  const sockets = new WebSocketServer({ server });
  sockets.on('connection', (socket) => socket.once('message', () => whenHello(socket)));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const close = async () => {
    for (const socket of sockets.clients) socket.terminate();
    sockets.close();
    server.closeAllConnections();
    const closed = once(server, 'close');
    server.close();
    await closed;
  };
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close };
}
