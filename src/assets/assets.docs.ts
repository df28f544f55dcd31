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
} from '../api-docs/index.js';
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
const BAD_TOKEN = 'the token is not in order';

const UPLOAD = named('UploadAsset', {
  type: 'object',
  properties: {
    encryptedFilename: {
      ...matching(NEW_ASSET_TOKEN),
      description:
        'The token of the asset: its encrypted file name, neither `list` nor `usage`, which are routes.',
    },
    data: { ...STRING, description: 'The envelope, 61 bytes to 25 MiB and 61 bytes, in standard base64.' },
  },
  required: ['encryptedFilename', 'data'],
});

const TEXT = {
  description: 'the envelope in base64',
  content: { 'text/plain': {} },
  headers: { 'X-Asset-Size-Bytes': 'Size of the envelope.' },
};

export const ASSETS_DOCS = {
  tag: 'Assets',
  operations: {
    list: { summary: 'The assets, newest first', answers: { 200: json('all of them', arrayOf(ASSET)) } },
    usage: {
      summary: 'What the assets of the account take up',
      answers: { 200: json('bytes of all its workspaces', STORAGE_USAGE) },
    },
    upload: {
      summary: 'Upload an asset',
      headers: {
        'Idempotency-Key': {
          description: 'With the same key and token, within 24 hours, the upload may be repeated.',
          schema: { type: 'string', pattern: '^[\\x21-\\x7e]{1,128}$' },
        },
      },
      body: { type: 'application/json', schema: UPLOAD },
      answers: {
        201: json('its token', TOKEN),
        400: 'the body or Idempotency-Key is not in order',
        409: 'the token is taken, or the key was used for another',
        413: 'the body is too large',
        507: json('the quota is used up, or the account is locked', QUOTA_EXCEEDED),
      },
    },
    get: {
      summary: 'Download an asset',
      path: OF_ASSET,
      answers: { 200: TEXT, 400: BAD_TOKEN, 404: 'asset not found' },
    },
    rename: {
      summary: 'Give an asset another name',
      path: OF_ASSET,
      answers: {
        200: json('it has the name', OK),
        400: BAD_TOKEN,
        404: 'asset not found',
        409: 'the name is taken',
      },
    },
    delete: {
      summary: 'Delete an asset',
      description: 'Also when there is none.',
      path: OF_ASSET,
      answers: { 200: json('there is none', OK), 400: BAD_TOKEN },
    },
    deleteBatch: {
      summary: 'Delete up to 1,000 assets',
      answers: { 200: json('what became of each, in the order asked', DELETED) },
    },
    import: {
      summary: 'Always refused: there is no local file system here',
      answers: { 400: 'assets cannot be imported here' },
    },
  },
} as const;
