import { randomBytes } from 'node:crypto';
import { deriveVaultKeys, encryptContent, encryptPath, verificationHash } from '../../crypto/src/index.js';
import type { RunSql } from '../large-log.js';

/** Workspaces with encryption set up, all with the same key (base64), and the path of a large note in the first one. */
export interface Vaults {
  readonly workspaceIds: string[];
  readonly key: string;
  readonly largeNote: string;
}

/** Uploads a file like a client. */
export type Upload = (workspaceId: string, encryptedPath: string, content: Buffer) => Promise<void>;

const [NOTES, NOTE_BYTES, LARGE_NOTE_BYTES] = [1_500, 2_000, 16 * 1024 * 1024];

/** Writes the same notes into each vault; the first vault also gets a large note. */
export async function fillVaults(run: RunSql, upload: Upload, workspaceIds: string[]): Promise<Vaults> {
  const masterKey = randomBytes(32);
  const keys = await deriveVaultKeys(masterKey);
  const salt = randomBytes(32).toString('hex');
  await run(
    'UPDATE workspaces SET encryption_salt = $2, verification_salt = $2, verification_hash = $3 WHERE id = ANY ($1::uuid[])',
    [workspaceIds, salt, await verificationHash(masterKey, salt)],
  );
  const note = async (path: string, text: string): Promise<{ path: string; bytes: Buffer }> => {
    const encryptedPath = encryptPath(keys, path);
    const bytes = Buffer.from(await encryptContent(keys, encryptedPath, Buffer.from(text)));
    return { path: encryptedPath, bytes };
  };
  const notes = await Promise.all(Array.from({ length: NOTES }, (_, n) => note(`note ${n}.md`, textOf(n))));
  const largeNote = 'large.md';
  for (const id of workspaceIds) await insertNotes(run, id, notes);
  const large = await note(largeNote, 'x'.repeat(LARGE_NOTE_BYTES));
  await upload(workspaceIds[0] ?? '', large.path, large.bytes);
  return { workspaceIds, key: masterKey.toString('base64'), largeNote };
}

/** Words differ between notes, which makes the index large. */
function textOf(n: number): string {
  let text = '';
  for (let word = 0; text.length < NOTE_BYTES; word++)
    text += `${((n * 7919 + word * 104729) % 100_003).toString(36)} word `;
  return text;
}

async function insertNotes(
  run: RunSql,
  workspaceId: string,
  rows: readonly { path: string; bytes: Buffer }[],
): Promise<void> {
  await run(
    `WITH rows AS (
       SELECT path, bytes, encode(sha256(bytes), 'hex') AS hash, n, gen_random_uuid() AS id
       FROM unnest($2::text[], $3::bytea[]) WITH ORDINALITY AS r (path, bytes, n)
     ), b AS (
       INSERT INTO blobs (workspace_id, id, state, location, size, sha256, bytes, created_at)
       SELECT $1, id, 'live', 'inline', length(bytes), hash, bytes, now() FROM rows
     ), f AS (
       INSERT INTO files (workspace_id, id, encrypted_path, blob_id, content_hash, encrypted_size, version, created_at, updated_at)
       SELECT $1, id, path, id, hash, length(bytes), 1, now(), now() FROM rows
     ), v AS (
       INSERT INTO versions (workspace_id, id, file_id, version, blob_id, content_hash, encrypted_size, change_cursor, created_at)
       SELECT $1, id, id, 1, id, hash, length(bytes), n, now() FROM rows
     ), c AS (
       INSERT INTO changes (workspace_id, cursor, file_id, path, action, content_hash, encrypted_size, version, changed_at)
       SELECT $1, n, id, path, 'upsert', hash, length(bytes), 1, now() FROM rows
     )
     UPDATE workspaces
     SET (head_cursor, live_files, document_bytes) = (SELECT max(n), max(n), sum(length(bytes)) FROM rows) WHERE id = $1`,
    [workspaceId, rows.map(({ path }) => path), rows.map(({ bytes }) => bytes)],
  );
}
