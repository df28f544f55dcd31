import type { Bench } from '../bench.js';
import { Client } from '../measure/client.js';
import type { BareServer } from './bare.js';

/** A server that accepts the same upload requests: the service and the bare servers. */
export interface Target {
  readonly name: string;
  readonly url: string;
  readonly client: Client;
  readonly pathTo: (workspaceId: string, path: string) => string;
  /** The process that answers; `pids` returns all processes that work for it. */
  readonly pid: number;
  readonly pids: () => Promise<number[]>;
}

export async function serviceTarget(bench: Bench): Promise<Target> {
  const service = await bench.service();
  return {
    name: 'service',
    url: service.url,
    client: await (await bench.account()).client(),
    pathTo: (workspaceId, path) => `/api/v1/workspaces/${workspaceId}/files/${path}`,
    pid: service.pid,
    pids: async () => [service.pid, ...(await service.postgres())],
  };
}

export type Bare = 'a file each' | 'no blob' | 'no blob, token checked';

export async function bareTarget(bench: Bench, kind: Bare): Promise<Target> {
  const bare = await bareServer(bench, kind);
  const service = await bench.service();
  const hasTokens = kind === 'no blob, token checked';
  const token = hasTokens ? await (await bench.account()).token() : undefined;
  return {
    name: `bare server, ${kind}`,
    url: bare.url,
    client: new Client(bare.url, token === undefined ? {} : { authorization: `Bearer ${token}` }),
    pathTo: (workspaceId, path) => `/${workspaceId}/${path}`,
    pid: bare.pid,
    pids: async () => [bare.pid, ...(await service.postgres())],
  };
}

function bareServer(bench: Bench, kind: Bare): Promise<BareServer> {
  if (kind === 'a file each') return bench.bareWithFiles();
  return kind === 'no blob' ? bench.bareWithoutBlobs() : bench.bareWithTokens();
}
