import {
  arrayOf,
  BOOLEAN,
  COUNT,
  json,
  matching,
  named,
  objectOf,
  OK,
  oneOf,
  STRING,
} from '../../platform/api-docs/index.js';
import { QUOTA_EXCEEDED } from '../files/index.js';
import { ASSET_TOKEN, NEW_ASSET_TOKEN } from './asset-headers.js';
import type { ListedAsset } from './assets.service.js';
import type { StoragePlan, StorageUsage } from './storage-quota.js';

interface AssetWire {
  encryptedFilename: string;
  /** Of the envelope. */
  sizeBytes: number;
  /** Epoch milliseconds. */
  uploadedAt: number;
}

export interface StorageUsageWire {
  usedBytes: number;
  quotaBytes: number;
  plan: StoragePlan;
  addonBytes: number;
  locked: boolean;
}

export interface DeletedAssetWire {
  token: string;
  deleted: boolean;
}

export function assetWire({ token, size, uploadedAt }: ListedAsset): AssetWire {
  return { encryptedFilename: token, sizeBytes: size, uploadedAt: uploadedAt.getTime() };
}

export function storageUsageWire(usage: StorageUsage): StorageUsageWire {
  const { usedBytes, quotaBytes, plan, addonBytes, locked } = usage;
  return { usedBytes, quotaBytes, plan, addonBytes, locked };
}

/** In the order of the request. */
export function deletedAssetsWire(tokens: string[], deleted: Set<string>): DeletedAssetWire[] {
  return tokens.map((token) => ({ token, deleted: deleted.has(token) }));
}

const TOKEN = matching(ASSET_TOKEN);

const ASSET = named(
  'Asset',
  objectOf<AssetWire>({ encryptedFilename: TOKEN, sizeBytes: COUNT, uploadedAt: COUNT }),
);

export const STORAGE_USAGE = named(
  'AssetUsage',
  objectOf<StorageUsageWire>({
    usedBytes: COUNT,
    quotaBytes: COUNT,
    plan: oneOf('free', 'pro'),
    addonBytes: COUNT,
    locked: BOOLEAN,
  }),
);

const DELETED = objectOf<{ results: unknown }>({
  results: arrayOf(named('DeletedAsset', objectOf<DeletedAssetWire>({ token: TOKEN, deleted: BOOLEAN }))),
});

const OF_ASSET = { token: { description: 'The encrypted file name.', schema: TOKEN } } as const;
const BAD_TOKEN = 'the token is invalid';

const UPLOAD = named('UploadAsset', {
  type: 'object',
  properties: {
    encryptedFilename: {
      ...matching(NEW_ASSET_TOKEN),
      description:
        'The encrypted file name, which is the token of the asset. `list` and `usage` are refused because they are routes.',
    },
    data: {
      ...STRING,
      description: 'The envelope in standard base64. Its size is 61 bytes to 25 MiB plus 61 bytes.',
    },
  },
  required: ['encryptedFilename', 'data'],
});

const TEXT = {
  description: 'the envelope in base64',
  content: { 'text/plain': {} },
  headers: { 'X-Asset-Size-Bytes': 'The size of the envelope.' },
};

export const ASSETS_DOCS = {
  tag: 'Assets',
  operations: {
    list: { summary: 'List the assets, newest first', answers: { 200: json('all assets', arrayOf(ASSET)) } },
    usage: {
      id: 'assets.getUsage',
      summary: 'Get the storage used by the assets of the account',
      answers: { 200: json('the usage of all workspaces together', STORAGE_USAGE) },
    },
    upload: {
      summary: 'Upload an asset',
      headers: {
        'Idempotency-Key': {
          description: 'Within 24 hours, the upload can be repeated with the same key and token.',
          schema: { type: 'string', pattern: '^[\\x21-\\x7e]{1,128}$' },
        },
      },
      body: { type: 'application/json', schema: UPLOAD },
      answers: {
        201: json('the token of the asset', TOKEN),
        400: 'the body or Idempotency-Key is invalid',
        409: 'the token is taken, or the Idempotency-Key has already been used for another token',
        413: 'the body is too large',
        507: json('the quota is used up, or the account is locked', QUOTA_EXCEEDED),
      },
    },
    get: {
      id: 'assets.download',
      summary: 'Download an asset',
      path: OF_ASSET,
      answers: { 200: TEXT, 400: BAD_TOKEN, 404: 'asset not found' },
    },
    rename: {
      summary: 'Rename an asset',
      path: OF_ASSET,
      answers: {
        200: json('the asset is renamed', OK),
        400: BAD_TOKEN,
        404: 'asset not found',
        409: 'the name is taken',
      },
    },
    delete: {
      summary: 'Delete an asset',
      description: 'Succeeds even if the asset does not exist.',
      path: OF_ASSET,
      answers: { 200: json('the asset does not exist any more', OK), 400: BAD_TOKEN },
    },
    deleteBatch: {
      id: 'assets.deleteMany',
      summary: 'Delete up to 1,000 assets',
      answers: { 200: json('the result for each token, in the order of the request', DELETED) },
    },
    import: {
      summary: 'Import assets (always refused)',
      description: 'The service has no local file system to import from.',
      answers: { 400: 'assets cannot be imported here' },
    },
  },
} as const;
