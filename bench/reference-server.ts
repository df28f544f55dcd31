import Fastify from 'fastify';
import { createHash } from 'node:crypto';
import pg from 'pg';
import { v7 as uuidv7 } from 'uuid';
import { type WebSocket, WebSocketServer } from 'ws';
import { configurationOfProcess } from '../src/config/index.js';
import { runningServerUrl } from '../src/platform/database/index.js';

/**
 * The limit beside which the service is measured: bare Fastify that hashes the body and runs the ideal statement, on
 * the same database. No authentication, no ownership, no validation: what they cost is what the ratio shows.
 */
const { dataDir } = configurationOfProcess();
const pool = new pg.Pool({ connectionString: await runningServerUrl(dataDir), max: 10 });
const server = Fastify({ routerOptions: { maxParamLength: 4096 } });

const put = 'SELECT * FROM put_file($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)';
const pull = `
  SELECT c.cursor, c.action, c.content_hash, c.encrypted_size, c.version, c.changed_at, c.changed_by_device,
         (SELECT f.encrypted_path FROM files f WHERE f.workspace_id = $1 AND f.id = c.file_id)
  FROM changes c WHERE c.workspace_id = $1 AND c.cursor > $2 ORDER BY c.cursor LIMIT $3`;

server.addContentTypeParser('application/octet-stream', { parseAs: 'buffer' }, (_request, body, done) =>
  done(null, body),
);

server.put<{ Params: { id: string; encPath: string }; Body: Buffer }>(
  '/api/v1/workspaces/:id/files/:encPath',
  async ({ params, body }) => {
    const hash = createHash('sha256').update(body).digest('hex');
    const values = [params.id, params.encPath, hash, body.length, 'bench', new Date()];
    const ids = [uuidv7(), uuidv7(), uuidv7()];
    const { rows } = await pool.query({
      name: 'put',
      text: put,
      values: [...values, ...ids, body, null, false],
    });
    broadcast(params.id, params.encPath, hash, body.length);
    return rows[0] as unknown;
  },
);

server.post<{ Params: { id: string }; Body: { cursor: number; limit: number } }>(
  '/api/v1/workspaces/:id/sync/pull',
  async ({ params, body }) => {
    const { rows } = await pool.query({
      name: 'pull',
      text: pull,
      values: [params.id, body.cursor, body.limit + 1],
    });
    return { changes: rows };
  },
);

/** The least that tells all listeners of a workspace: no token, no order, no other instance. */
const rooms = new Map<string, Set<WebSocket>>();
const sockets = new WebSocketServer({ server: server.server, perMessageDeflate: false });
sockets.on('connection', (socket, request) => {
  const id = /workspaces\/([^/]+)\/ws/.exec(request.url ?? '')?.[1] ?? '';
  const room = rooms.get(id) ?? new Set();
  rooms.set(id, room.add(socket));
  socket.on('message', () => socket.send('{"type":"welcome"}'));
  socket.on('close', () => room.delete(socket));
});

function broadcast(id: string, encryptedPath: string, contentHash: string, encryptedSize: number): void {
  const change = { encryptedPath, action: 'upsert', contentHash, encryptedSize, version: 1 };
  const message = Buffer.from(JSON.stringify({ type: 'changes', changes: [change], cursor: 1 }));
  for (const socket of rooms.get(id) ?? []) socket.send(message, { binary: false });
}

console.log(await server.listen({ port: 0, host: '127.0.0.1' }));
process.on('SIGTERM', () => void server.close().then(() => pool.end()));
