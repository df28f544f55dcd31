import { randomBytes } from 'node:crypto';
import { verificationHash } from '../../crypto/src/index.js';
import type { Target } from './network.js';
import { json, Peer } from './peer.js';
import { mintJwt, type Person, signUp } from './person.js';
import { sha256 } from './user.js';

/** A hostile account with a workspace, a vault, and files of several MiB. */
export interface Accomplice {
  readonly person: Person;
  readonly workspaceId: string;
  readonly keySession: string;
  readonly paths: readonly string[];
}

const COUNT = 9;
const [FILES, FILE_BYTES] = [6, 1024 * 1024 - 1_000];

/** Creates nine accomplices with different addresses. @throws when the service refuses any of their requests */
export async function makeAccomplices(target: Target): Promise<Accomplice[]> {
  const persons: Person[] = [];
  for (let n = 1; n <= COUNT; n++) persons.push(await signUp(target, 'hostile', n));
  return Promise.all(persons.map((person, n) => settle(target, person, n + 1)));
}

async function settle(target: Target, person: Person, n: number): Promise<Accomplice> {
  const peer = new Peer(target, 'hostile', n);
  const token = await mintJwt(peer, person);
  const post = async <T>(path: string, body: unknown): Promise<T> =>
    json<T>(await peer.sendJson('POST', path, body, { token }));
  const { id: workspaceId } = await post<{ id: string }>('/api/v1/workspaces', { name: 'slow' });
  const [key, salt] = [randomBytes(32), randomBytes(32).toString('hex')];
  await post(`/api/v1/workspaces/${workspaceId}/setup-encryption`, {
    encryptionSalt: salt,
    verificationSalt: salt,
    verificationHash: await verificationHash(key, salt),
  });
  const { keySession } = await post<{ keySession: string }>(
    `/api/v1/automation/workspaces/${workspaceId}/key-sessions`,
    { key: key.toString('base64') },
  );
  const paths = Array.from({ length: FILES }, (_, i) => `large-${i}`);
  for (const path of paths) {
    const body = randomBytes(FILE_BYTES);
    const headers = { 'x-content-hash': sha256(body), 'x-device-id': 'slow' };
    json(await peer.send('PUT', `/api/v1/workspaces/${workspaceId}/files/${path}`, { token, headers, body }));
  }
  peer.close();
  return { person, workspaceId, keySession, paths };
}
