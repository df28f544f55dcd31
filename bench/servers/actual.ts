import { randomUUID } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Bench } from '../bench.js';
import { type Note, notebook } from '../cases/note.js';
import { freePort } from '../free-port.js';
import { Client } from '../measure/client.js';
import { type Message, syncRequest } from './actual-messages.js';
import type { Keeper, Place } from './keepers.js';
import { npmPeer } from './npm-peer.js';
import { type Program, startProgram } from './program.js';

/** Needs Node.js 22. The native modules that 25.6.0 compiles eventually crash a Node.js 24.21 process. */
const VERSION = '26.9.0';
/**
 * Reduces garbage collection outside of JavaScript: when a task of the engine collects statements of better-sqlite3,
 * Node.js 24 aborts the process, within seconds of bulk requests.
 */
const FLAGS = ['--no-incremental-marking', '--no-memory-reducer', '--max-semi-space-size=256'];
const [WARM_UPS, WARM_UP_NOTES] = [3, 1_000];
const NODE = '0123456789abcdef';
const BEFORE_ALL = `1970-01-01T00:00:00.000Z-0000-${NODE}`;

/**
 * Sends one message per note, either one by one like single edits, or all in one request. The second device fetches all of
 * them in one request. After bulk requests the process is replaced, and the new one is warmed up.
 */
export async function actual(bench: Bench): Promise<Keeper> {
  const home = await npmPeer('@actual-app/sync-server', VERSION, ['better-sqlite3', 'bcrypt', 'argon2']);
  let server = await start(bench, home, await bench.place('actual'));
  let [starts, hadBulk] = [1, false];
  return {
    name: `@actual-app/sync-server ${VERSION}`,
    pids: () => [server.pid],
    emptyPlace: async () => {
      if (hadBulk) {
        await server.stop();
        server = await start(bench, home, await bench.place(`actual-${starts++}`));
        const warmUp = notebook(WARM_UP_NOTES);
        for (let sync = 0; sync < WARM_UPS; sync++) {
          const { bulk } = await emptyPlace(server.client, () => undefined);
          await bulk?.putAll(warmUp);
          await bulk?.fetchAll(warmUp);
        }
      }
      hadBulk = false;
      return emptyPlace(server.client, () => (hadBulk = true));
    },
  };
}

async function start(bench: Bench, home: string, data: string): Promise<Program & { client: Client }> {
  const port = await freePort();
  for (const name of ['server-files', 'user-files']) await mkdir(join(data, name), { recursive: true });
  const env = {
    PATH: process.env.PATH,
    NODE_ENV: 'production',
    ACTUAL_DATA_DIR: data,
    ACTUAL_PORT: String(port),
    ACTUAL_HOSTNAME: '127.0.0.1',
    ACTUAL_TRUSTED_PROXIES: '127.0.0.1/32',
  };
  const command = join(home, 'node_modules/@actual-app/sync-server/build/app.js');
  const program = bench.ending(
    await startProgram([process.execPath, ...FLAGS, command], { cwd: data, env }, /Listening on/),
  );
  const url = `http://127.0.0.1:${port}`;
  const visitor = new Client(url);
  await untilAnswered(visitor, '/health');
  const password = 'bench';
  await visitor.sendJson('POST', '/account/bootstrap', { password });
  const session = await visitor.sendJson('POST', '/account/login', { password });
  visitor.close();
  const { token } = (session as { data: { token: string } }).data;
  const client = new Client(url, { 'x-actual-token': token, 'content-type': 'application/actual-sync' });
  return { ...program, client };
}

async function emptyPlace(client: Client, onBulk: () => unknown): Promise<Place> {
  const file = randomUUID();
  const headers = {
    'x-actual-file-id': file,
    'x-actual-name': 'bench',
    'x-actual-format': '2',
    ...forwarded(),
    'content-type': 'application/encrypted-file',
  };
  const uploaded = await client.send('POST', '/sync/upload-user-file', { headers, body: Buffer.from('-') });
  const { groupId } = JSON.parse(String(uploaded)) as { groupId: string };
  let [clock, now] = [0, Date.UTC(2026, 0, 1)];
  const sync = (since: string, ...messages: readonly Message[]): Promise<Buffer> =>
    client.send('POST', '/sync/sync', {
      headers: forwarded(),
      body: syncRequest({ file, group: groupId, since, messages }),
    });
  const message = ({ body }: Note): Message => {
    now += ++clock % 1000 === 0 ? 1 : 0;
    const counter = (clock % 0xffff).toString(16).toUpperCase().padStart(4, '0');
    return { timestamp: `${new Date(now).toISOString()}-${counter}-${NODE}`, content: body };
  };
  const fetchAll = async (): Promise<number> => (await sync(BEFORE_ALL)).length;
  return {
    put: (note) => {
      const sent = message(note);
      return sync(sent.timestamp, sent);
    },
    fetchAll,
    bulk: {
      putAll: (notes) => {
        onBulk();
        const sent = notes.map(message);
        return sync(sent.at(-1)?.timestamp ?? BEFORE_ALL, ...sent);
      },
      fetchAll,
    },
  };
}

/** The server reports that it is listening before it is. */
async function untilAnswered(client: Client, path: string): Promise<void> {
  const deadline = performance.now() + 30_000;
  for (let isUp = false; !isUp;) {
    if (performance.now() > deadline) throw new Error('the server does not answer');
    isUp = await client.send('GET', path).then(
      () => true,
      () => new Promise((resolve) => setTimeout(() => resolve(false), 50)),
    );
  }
}

let sender = 0;

/** The server allows 500 requests a minute per address; each of these claims another address through a trusted proxy. */
function forwarded(): Record<string, string> {
  sender++;
  return { 'x-forwarded-for': `203.${(sender >> 16) & 255}.${(sender >> 8) & 255}.${sender & 255}` };
}
