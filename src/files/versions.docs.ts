import { DEVICE_ID } from '../devices/index.js';
import {
  arrayOf,
  COUNT,
  INSTANT,
  json,
  matching,
  named,
  nullable,
  objectOf,
  ORDINAL,
  SHA256_HEX,
  UUID,
} from '../api-docs/index.js';
import { DOWNLOAD_ANSWERS, DOWNLOAD_HEADERS } from './download.docs.js';
import { IN_PATH } from './files.docs.js';
import type { RestoredWire, VersionWire } from './versions.wire.js';

const VERSION = named(
  'Version',
  objectOf<VersionWire>({
    id: UUID,
    version: ORDINAL,
    content_hash: SHA256_HEX,
    encrypted_size: COUNT,
    device_id: nullable(matching(DEVICE_ID)),
    created_at: INSTANT,
    changeCursor: nullable(ORDINAL),
  }),
);

const RESTORED = named(
  'RestoredFile',
  objectOf<RestoredWire>({ id: UUID, version: ORDINAL, contentHash: SHA256_HEX, encryptedSize: COUNT }),
);

const OF_VERSION = { ...IN_PATH, vid: { description: 'The id of a version.', schema: UUID } } as const;

export const VERSIONS_DOCS = {
  tag: 'Versions',
  operations: {
    list: {
      summary: 'The versions of a file, newest first',
      description: 'Also of a deleted one. Old versions are thinned out in time.',
      path: IN_PATH,
      answers: {
        200: json('all that are kept', objectOf<{ versions: unknown }>({ versions: arrayOf(VERSION) })),
        400: 'the path is not in order',
        404: 'a path that was never seen',
      },
    },
    get: {
      summary: 'Download a version',
      path: OF_VERSION,
      headers: DOWNLOAD_HEADERS,
      answers: { ...DOWNLOAD_ANSWERS, 400: 'the path is not in order', 404: 'version not found' },
    },
    restore: {
      summary: 'Make an old version the newest',
      description:
        'Makes exactly one version, which shares the bytes of the old one. A deleted file comes alive.',
      path: OF_VERSION,
      headers: {
        'X-Device-Id': {
          description: 'The device that restores, and is not told of it; without one every device is.',
          schema: matching(DEVICE_ID),
        },
      },
      answers: {
        200: json('the new version; `id` is that of the file', RESTORED),
        400: 'the path or X-Device-Id is not in order',
        404: 'version not found',
      },
    },
  },
} as const;
