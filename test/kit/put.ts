import { v7 as uuidv7 } from 'uuid';
import type { Put } from '../../src/domain/files/upload-writer.js';
import type { TestService } from './service.js';
import { sha256, type TestWorkspace } from './workspace.js';

/** An upload by the workspace's owner as the service's queue takes it, to an unencrypted path, with the content in its row. */
export const putOf = (
  service: TestService,
  { id, user }: TestWorkspace,
  path: string,
  content = path,
): Put => ({
  workspaceId: id,
  caller: { userId: user.id, needsSubscription: true },
  encryptedPath: path,
  contentHash: sha256(content),
  size: content.length,
  deviceId: 'device',
  precondition: { ifMatch: null, ifAbsent: false },
  now: service.clock.now(),
  fileId: uuidv7(),
  versionId: uuidv7(),
  blobId: uuidv7(),
  bytes: Buffer.from(content),
});
