import type { Version, VersionContent } from '../files/index.js';
import { plaintextSize } from './plaintext.js';

export interface NoteVersionWire {
  versionId: string;
  version: number;
  /** Bytes of plaintext. */
  size: number;
  contentHash: string;
  deviceId: string | null;
  createdAt: string;
  changeCursor: number | null;
}

export interface NoteVersionContentWire {
  path: string;
  content: '';
  version: number;
  contentHash: string;
  createdAt: string;
}

export function noteVersionWire(version: Version): NoteVersionWire {
  return {
    versionId: version.id,
    version: version.version,
    size: plaintextSize(version.encryptedSize),
    contentHash: version.contentHash,
    deviceId: version.deviceId,
    createdAt: version.createdAt.toISOString(),
    changeCursor: version.changeCursor,
  };
}

/** With a gap for the content. */
export function noteVersionContentWire(path: string, version: VersionContent): NoteVersionContentWire {
  const { contentHash, createdAt } = version;
  return { path, content: '', version: version.version, contentHash, createdAt: createdAt.toISOString() };
}
