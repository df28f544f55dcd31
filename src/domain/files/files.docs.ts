import {
  arrayOf,
  BOOLEAN,
  COUNT,
  errorWith,
  INSTANT,
  json,
  matching,
  named,
  objectOf,
  OK,
  oneOf,
  ORDINAL,
  SHA256_HEX,
  UUID,
} from '../../platform/api-docs/index.js';
import { DEVICE_ID } from '../devices/index.js';
import { CONTENT_HASH, ENCRYPTED_PATH } from './file-headers.js';
import type { Upload, Uploaded } from './files.service.js';

export type UploadedFile = Pick<Upload, 'workspaceId' | 'encryptedPath' | 'contentHash'> &
  Pick<Uploaded, 'encryptedSize' | 'version'> & { readonly id: string };

const VALIDATORS = { ETag: 'The content hash, in quotes.' };
const BYTES = { 'application/octet-stream': {} };

export const DOWNLOAD_HEADERS = {
  Range: { description: 'One range: `bytes=…`.' },
  'If-Range': { description: 'An ETag. The range applies only to this content.' },
  'If-None-Match': { description: 'The ETags that the client has.' },
} as const;

/** Shared by all routes that return the bytes of a version. */
export const DOWNLOAD_ANSWERS = {
  200: {
    description: 'the ciphertext',
    content: BYTES,
    headers: { ...VALIDATORS, 'Accept-Ranges': 'bytes', 'Content-Length': 'The size of the ciphertext.' },
  },
  206: {
    description: 'the requested range',
    content: BYTES,
    headers: { ...VALIDATORS, 'Content-Range': '`bytes <first>-<last>/<size>`' },
  },
  304: { description: 'the client has this content', headers: VALIDATORS },
  416: 'the range is outside the file',
} as const;

/** The 507 response of every upload. */
export const QUOTA_EXCEEDED = errorWith({
  code: oneOf('STORAGE_QUOTA_EXCEEDED'),
  details: objectOf({
    usedBytes: COUNT,
    quotaBytes: COUNT,
    requestedBytes: COUNT,
    locked: BOOLEAN,
  }),
});

export const PATH = matching(ENCRYPTED_PATH);

export const IN_PATH = {
  encPath: { description: 'The encrypted path: base64url, opaque, compared exactly.', schema: PATH },
} as const;

const FROM_DEVICE = {
  'X-Device-Id': {
    description: 'The device that makes the change and is not notified of it. It need not be registered.',
    schema: matching(DEVICE_ID),
    isRequired: true,
  },
} as const;

const FILE = named(
  'ListedFile',
  objectOf({
    id: UUID,
    encrypted_path: PATH,
    content_hash: SHA256_HEX,
    encrypted_size: COUNT,
    version: ORDINAL,
    created_at: INSTANT,
    updated_at: INSTANT,
  }),
);

const UPLOADED = named(
  'UploadedFile',
  objectOf<UploadedFile>({
    id: UUID,
    workspaceId: UUID,
    encryptedPath: PATH,
    contentHash: SHA256_HEX,
    encryptedSize: COUNT,
    version: ORDINAL,
  }),
);

export const FILES_DOCS = {
  tag: 'Files',
  operations: {
    list: {
      summary: 'List the live files',
      answers: { 200: json('all live files', objectOf({ files: arrayOf(FILE) })) },
    },
    put: {
      id: 'files.upload',
      summary: 'Upload the content of a file',
      description:
        'Creates a version and a change. Uploading the current content of a live file creates neither, so an upload ' +
        'can be repeated. A deleted file becomes live again.',
      path: IN_PATH,
      headers: {
        ...FROM_DEVICE,
        'X-Content-Hash': {
          description: 'SHA-256 of the body, in hex.',
          schema: { type: 'string', pattern: CONTENT_HASH.source.replace('a-f', 'a-fA-F') },
          isRequired: true,
        },
        'If-Match': { description: '`"<content hash>"`: uploads only if this is the current content.' },
        'If-None-Match': { description: '`*`: uploads only if the path has no live file.' },
      },
      body: {
        description: 'The ciphertext, at most 100 MiB unless MAX_FILE_BYTES sets another limit.',
        type: 'application/octet-stream',
      },
      answers: {
        200: json('a new version of an existing file, or no change', UPLOADED),
        201: json('a new file', UPLOADED),
        400: 'the path or a header is invalid, or the hash is not the hash of the body',
        412: 'the live file does not meet the condition',
        413: 'the body is too large',
        507: json('the quota of the account would be exceeded', QUOTA_EXCEEDED),
      },
    },
    get: {
      id: 'files.download',
      summary: 'Download the content of a live file',
      path: IN_PATH,
      headers: DOWNLOAD_HEADERS,
      answers: { ...DOWNLOAD_ANSWERS, 400: 'the path is invalid', 404: 'file not found' },
    },
    delete: {
      summary: 'Delete a file and keep its versions',
      path: IN_PATH,
      headers: FROM_DEVICE,
      answers: {
        200: json('the file is deleted', OK),
        400: 'the path or X-Device-Id is invalid',
        404: 'file not found',
      },
    },
  },
} as const;
