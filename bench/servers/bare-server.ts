import Fastify from 'fastify';
import { createLocalJWKSet, type JSONWebKeySet, jwtVerify } from 'jose';
import { createHash, randomUUID } from 'node:crypto';
import { open, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { type WebSocket, WebSocketServer } from 'ws';
import { BARE_HEAD, BARE_PUT } from './bare-tables.js';

/**
 * The theoretical limit that the service is compared with: Fastify, the hash of the body, the ideal statement, a response,
 * and a message to each listener. It has no ownership checks and no validation; the ratio shows their cost. Concurrent
 * uploads to a workspace are committed together. With BLOBS, the bytes go into a separate file with fsync; without it they
 * are discarded, which no real service can do, and a download returns other bytes of the same length. With TOKENS_OF, the
 * URL of the service, each request must carry one of its tokens, whose signature is verified each time.
 */
const { DATABASE_URL, BLOBS, PORT, TOKENS_OF } = process.env;
const pool = new pg.Pool({ connectionString: DATABASE_URL, max: 10 });
const server = Fastify({ routerOptions: { maxParamLength: 4096 } });
const ANY_BYTES = Buffer.alloc(1024 * 1024, 'x');
const BATCH = 64;

type Params = { id: string; path: string };

interface Put {
  readonly path: string;
  readonly hash: string;
  readonly size: number;
  readonly blob: string;
  readonly device: string;
}

interface Waiting extends Put {
  readonly resolve: (row: Row) => void;
  readonly reject: (error: unknown) => void;
}

interface Row {
  readonly cursor: string;
  readonly version: number;
}

server.addContentTypeParser('application/octet-stream', { parseAs: 'buffer' }, (_request, body, done) =>
  done(null, body),
);

if (TOKENS_OF) {
  const keys = createLocalJWKSet((await (await fetch(`${TOKENS_OF}/api/auth/jwks`)).json()) as JSONWebKeySet);
  server.addHook('onRequest', async ({ headers }) => {
    const token = headers.authorization?.slice('Bearer '.length) ?? '';
    await jwtVerify(token, keys, { algorithms: ['RS256'], issuer: TOKENS_OF, audience: TOKENS_OF });
  });
}

server.put<{ Params: Params; Body: Buffer }>('/:id/:path', async ({ params, body, headers }, reply) => {
  const { id, path } = params;
  const hash = createHash('sha256').update(body).digest('hex');
  if (hash !== headers['x-content-hash']) return await reply.code(400).send();
  const blob = randomUUID();
  if (BLOBS) await keep(join(BLOBS, blob), body);
  const put = { path, hash, size: body.length, blob, device: String(headers['x-device-id']) };
  const { cursor, version } = await committed(id, put);
  broadcast(
    id,
    { encryptedPath: path, contentHash: hash, encryptedSize: body.length, version },
    Number(cursor),
  );
  reply.code(201);
  return {
    id: blob,
    workspaceId: id,
    encryptedPath: path,
    contentHash: hash,
    encryptedSize: body.length,
    version,
  };
});

server.get<{ Params: Params }>('/:id/:path', async ({ params }, reply) => {
  const { rows } = await pool.query<{ hash: string; size: string; blob: string }>({
    name: 'head',
    text: BARE_HEAD,
    values: [params.id, params.path],
  });
  const [head] = rows;
  if (!head) return await reply.code(404).send();
  reply.header('content-type', 'application/octet-stream').header('etag', `"${head.hash}"`);
  return BLOBS ? await readFile(join(BLOBS, head.blob)) : ANY_BYTES.subarray(0, Number(head.size));
});

async function keep(path: string, bytes: Buffer): Promise<void> {
  const file = await open(path, 'wx');
  await file.write(bytes);
  await file.sync();
  await file.close();
}

const lines = new Map<string, Waiting[]>();

function committed(workspace: string, put: Put): Promise<Row> {
  return new Promise((resolve, reject) => {
    const line = lines.get(workspace);
    if (line) line.push({ ...put, resolve, reject });
    else void drain(workspace, [{ ...put, resolve, reject }]);
  });
}

async function drain(workspace: string, line: Waiting[]): Promise<void> {
  lines.set(workspace, line);
  while (line.length > 0) await commit(workspace, line.splice(0, BATCH));
  lines.delete(workspace);
}

async function commit(workspace: string, batch: Waiting[]): Promise<void> {
  const columns = (['path', 'hash', 'size', 'blob', 'device'] as const).map((name) =>
    batch.map((put) => put[name]),
  );
  try {
    const values = [workspace, ...columns, new Date()];
    const { rows } = await pool.query<Row>({ name: 'put', text: BARE_PUT, values });
    batch.forEach(({ resolve }, index) => resolve(rows[index] as Row));
  } catch (error) {
    for (const { reject } of batch) reject(error);
  }
}

const rooms = new Map<string, Set<WebSocket>>();
const sockets = new WebSocketServer({ server: server.server, perMessageDeflate: false });
sockets.on('connection', (socket, request) => {
  const id = (request.url ?? '').slice(1);
  const room = rooms.get(id) ?? new Set();
  rooms.set(id, room.add(socket));
  socket.on('message', () => socket.send('{"type":"welcome"}'));
  socket.on('close', () => room.delete(socket));
});

function broadcast(id: string, change: object, cursor: number): void {
  const room = rooms.get(id);
  if (!room) return;
  const changes = [{ ...change, action: 'upsert', changedAt: new Date(), changedByDevice: 'bench' }];
  const message = Buffer.from(JSON.stringify({ type: 'changes', changes, cursor }));
  for (const socket of room) socket.send(message, { binary: false });
}

console.log(await server.listen({ port: Number(PORT), host: '127.0.0.1' }));
process.on('SIGTERM', () => process.exit(0));
