import { randomUUID } from 'node:crypto';
import type { TestDatabase } from './database.js';
import { sha256 } from './workspace.js';

const PUT = `
  SELECT outcome FROM put_documents(
    $1, ARRAY[$2], ARRAY[$3], ARRAY[$4::bigint], ARRAY['device'], ARRAY[$5::timestamptz],
    ARRAY[$6::uuid], ARRAY[$7::uuid], ARRAY[$8::uuid], $9::bytea, ARRAY[length($9::bytea)], ARRAY[NULL], ARRAY[false], 0, NULL
  )`;

interface DirectUpload {
  readonly workspaceId: string;
  readonly path: string;
  readonly text: string;
  readonly at?: Date;
}

/** Uploads with the SQL function that the service calls, without a service. */
export async function uploadDirectly(
  { query }: Pick<TestDatabase, 'query'>,
  { workspaceId, path, text, at = new Date() }: DirectUpload,
): Promise<void> {
  const ids = [randomUUID(), randomUUID(), randomUUID()];
  const values = [workspaceId, path, sha256(text), text.length, at, ...ids, Buffer.from(text)];
  const [row] = await query<{ outcome: string }>(PUT, values);
  expect(row?.outcome).toMatch(/^(created|updated)$/);
}
