import type { TestDatabase } from './database.js';
import { sha256, type TestWorkspace } from './workspace.js';

/** Sends half of an upload. Resolves with a function that sends the rest and returns the status. */
export async function halfAnUpload(
  database: TestDatabase,
  workspace: TestWorkspace,
  path: string,
): Promise<() => Promise<number>> {
  const body = Buffer.alloc(200_000, path);
  const headers = { 'X-Content-Hash': sha256(body), 'X-Device-Id': 'slow', 'Content-Length': '200000' };
  const upload = workspace.user.put(workspace.file(path)).set(headers);
  upload.write(body.subarray(0, 100_000));
  await database.eventually(`SELECT FROM blobs WHERE state = 'staged'`);
  return async () => (await upload.send(body.subarray(100_000))).status;
}
