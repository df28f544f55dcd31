import { setTimeout as pause } from 'node:timers/promises';
import { json, type Sent } from './peer.js';
import { sha256, type User } from './user.js';

interface Change {
  readonly encryptedPath: string;
  readonly action: 'upsert' | 'delete';
  readonly contentHash: string;
}

/**
 * Compares a user's workspace with the acknowledged uploads: the log is dense, has every acknowledged upload of a path in
 * order, and gives the listing when folded; every listed file downloads with its hash. Returns one line per fault.
 */
export async function verify(user: User): Promise<string[]> {
  await user.signOn();
  const faults: string[] = [];
  const log = await wholeLog(user);
  const { cursor } = await insist<{ cursor: number }>(user, 'GET', `${user.path}/sync/status`);
  if (log.length !== cursor) faults.push(`${log.length} changes up to cursor ${cursor}`);
  for (const [path, uploads] of user.uploads) {
    const hashes = log
      .filter(({ encryptedPath }) => encryptedPath === path)
      .map(({ contentHash }) => contentHash);
    const sent = new Map(uploads.map(({ hash }, n) => [hash, n]));
    const acknowledged = uploads.filter(({ isAcknowledged }) => isAcknowledged).map(({ hash }) => hash);
    const lost = acknowledged.filter((hash) => !hashes.includes(hash));
    if (lost.length > 0) faults.push(`${path}: ${lost.length} acknowledged uploads are not in the log`);
    const order = hashes.map((hash) => sent.get(hash) ?? -1);
    if (order.some((n, i) => n < 0 || n <= (order[i - 1] ?? -1))) faults.push(`${path}: logged out of order`);
  }
  return [...faults, ...(await wrongFiles(user, log))];
}

async function wrongFiles(user: User, log: readonly Change[]): Promise<string[]> {
  const faults: string[] = [];
  const folded = new Map(log.map(({ encryptedPath, contentHash }) => [encryptedPath, contentHash]));
  const { files } = await insist<{ files: { encrypted_path: string; content_hash: string }[] }>(
    user,
    'GET',
    `${user.path}/files`,
  );
  if (files.length !== folded.size) faults.push(`${files.length} files listed, ${folded.size} in the log`);
  for (const { encrypted_path: path, content_hash: hash } of files) {
    if (folded.get(path) !== hash) faults.push(`${path}: listed with a different hash than logged`);
    const answer = await patiently(user, 'GET', `${user.path}/files/${path}`);
    if (sha256(answer.body) !== hash)
      faults.push(`${path}: downloads with different content (${answer.status})`);
  }
  return faults;
}

async function wholeLog(user: User): Promise<Change[]> {
  const log: Change[] = [];
  for (let cursor = 0; ;) {
    const body = Buffer.from(JSON.stringify({ deviceId: 'verifier', cursor, limit: 1000 }));
    const headers = { 'content-type': 'application/json' };
    const page = await insist<{ changes: Change[]; cursor: number; hasMore: boolean }>(
      user,
      'POST',
      `${user.path}/sync/pull`,
      { headers, body },
    );
    log.push(...page.changes);
    cursor = page.cursor;
    if (!page.hasMore) return log;
  }
}

async function insist<T>(user: User, method: string, path: string, sent?: Sent): Promise<T> {
  return json<T>(await patiently(user, method, path, sent));
}

/** Retries until the request is answered, within the limits that apply to all clients. */
async function patiently(user: User, method: string, path: string, sent?: Sent): ReturnType<User['ask']> {
  for (let tries = 1; ; tries++) {
    const answer = await user.ask('verify', method, path, sent);
    const mayComeAgain = answer.status === 0 || answer.status === 429 || answer.status === 503;
    if (!mayComeAgain || tries === 90) return answer;
    await pause(1000);
  }
}
