import pg from 'pg';
import { fileStatements } from '../../src/domain/files/files.queries.js';
import { type Put, valuesTogether } from '../../src/domain/files/upload-writer.js';
import { newId } from '../../src/platform/database/index.js';
import type { Bench } from '../bench.js';
import type { Note } from '../cases/note.js';
import { Client } from '../measure/client.js';
import type { Account } from './account.js';

/** A workspace and the account that owns it. */
export interface Tenant {
  readonly account: Account;
  readonly workspaceId: string;
}

/** Stores notes of many accounts. */
export interface TenantsTarget {
  readonly name: string;
  /** The process that stores; `pids` returns all processes that work for it. */
  readonly pid: number;
  readonly pids: () => Promise<number[]>;
  readonly put: (tenant: Tenant, note: Note) => Promise<unknown>;
}

/** The service, the bare server that checks tokens, and the service's statement alone. */
export async function tenantsTargets(bench: Bench, all: readonly Tenant[]): Promise<TenantsTarget[]> {
  const [service, bare] = [await bench.service(), await bench.bareWithTokens()];
  const [toService, toBare] = [await clientsOf(all, service.url), await clientsOf(all, bare.url)];
  return [
    {
      name: 'service',
      pid: service.pid,
      pids: async () => [service.pid, ...(await service.postgres())],
      put: ({ account, workspaceId }, { path, ...sent }) =>
        clientOf(toService, account).send('PUT', `/api/v1/workspaces/${workspaceId}/files/${path}`, sent),
    },
    {
      name: 'bare server, no blob, token checked',
      pid: bare.pid,
      pids: async () => [bare.pid, ...(await service.postgres())],
      put: ({ account, workspaceId }, { path, ...sent }) =>
        clientOf(toBare, account).send('PUT', `/${workspaceId}/${path}`, sent),
    },
    await sqlAlone(bench),
  ];
}

type Clients = ReadonlyMap<Account, Client>;

async function clientsOf(all: readonly Tenant[], url: string): Promise<Clients> {
  const accounts = [...new Set(all.map(({ account }) => account))];
  return new Map(
    await Promise.all(
      accounts.map(
        async (account) =>
          [account, new Client(url, { authorization: `Bearer ${await account.token()}` })] as const,
      ),
    ),
  );
}

function clientOf(clients: Clients, account: Account): Client {
  const client = clients.get(account);
  if (!client) throw new Error('the account has no client');
  return client;
}

/** The service's default settings, as it sets them on its own connections. */
const [GRACE_DAYS, QUOTA] = [7, 50 * 1024 ** 3];
const PLANNING = '-c enable_seqscan=off -c jit=off -c plan_cache_mode=force_generic_plan';

interface Waiting {
  readonly put: Put;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** The statement of shared commits through `pg`, in this process. Uploads that arrive during one run share the next. */
async function sqlAlone(bench: Bench): Promise<TenantsTarget> {
  const service = await bench.service();
  const client = new pg.Client({ connectionString: service.databaseUrl, options: PLANNING });
  await client.connect();
  bench.ending({ stop: () => client.end() });
  const { rows } = await client.query<{ id: string; userId: string }>(
    'SELECT id, user_id AS "userId" FROM workspaces',
  );
  const owners = new Map(rows.map(({ id, userId }) => [id, userId]));
  let waiting: Waiting[] = [];
  let isSending = false;
  const send = async (): Promise<void> => {
    isSending = true;
    while (waiting.length > 0) {
      const batch = waiting;
      waiting = [];
      const puts = batch.map(({ put }) => put);
      const now = new Date();
      const values = valuesTogether(puts, (caller) => [caller?.userId ?? null, now, GRACE_DAYS], now, QUOTA);
      const { rowCount } = await client.query({ ...fileStatements.putTogether, values: [...values] });
      if (rowCount === puts.length) for (const { resolve } of batch) resolve();
      else
        for (const { reject } of batch)
          reject(new Error(`${rowCount} of ${puts.length} uploads were written`));
    }
    isSending = false;
  };
  return {
    name: 'SQL through pg alone',
    pid: process.pid,
    pids: async () => [process.pid, ...(await service.postgres())],
    put: ({ workspaceId }, note) =>
      new Promise<void>((resolve, reject) => {
        const put = putOf(workspaceId, owners.get(workspaceId) ?? '', note);
        waiting.push({ put, resolve, reject });
        if (!isSending) send().catch(reject);
      }),
  };
}

const putOf = (workspaceId: string, userId: string, { path, body, headers }: Note): Put => ({
  workspaceId,
  caller: { userId, needsSubscription: true },
  encryptedPath: path,
  contentHash: headers['x-content-hash'] ?? '',
  size: body.length,
  deviceId: 'bench',
  precondition: { ifMatch: null, ifAbsent: false },
  now: new Date(),
  fileId: newId(),
  versionId: newId(),
  blobId: newId(),
  bytes: body,
});
