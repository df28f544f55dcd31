import { Controller, Delete, Get, HttpCode, Patch, Post, Req, Res } from '@nestjs/common';
import { ArrayMaxSize, ArrayUnique, IsArray, Matches } from 'class-validator';
import type { FastifyReply, FastifyRequest } from 'fastify';
import {
  BoundTokensToo,
  CurrentPrincipal,
  CurrentWorkspace,
  NamedWorkspace,
  type Principal,
  Scopes,
  SCOPES,
  Transfer,
  type WorkspaceRef,
} from '../../access/index.js';
import {
  arrayOf,
  BOOLEAN,
  COUNT,
  Documented,
  json,
  matching,
  named,
  objectOf,
  OK,
  oneOf,
  STRING,
} from '../../platform/api-docs/index.js';
import { BadRequest, JsonBody, sendJsonList } from '../../platform/http/index.js';
import { OpenWhenReadOnly } from '../../platform/kill-switch.js';
import { QUOTA_EXCEEDED } from '../files/index.js';
import { AssetDownload } from './asset-download.js';
import { AssetUploads } from './asset-uploads.js';
import { Assets, type ListedAsset } from './assets.service.js';
import { StorageQuota, type StorageUsage } from './storage-quota.js';
import {
  ASSET_TOKEN,
  ASSET_TOKEN_RULE,
  AssetToken,
  IdempotencyKey,
  NEW_ASSET_TOKEN,
  NEW_ASSET_TOKEN_RULE,
  UploadBodies,
} from './upload-body.js';

/** `sizeBytes` is the size of the envelope, `uploadedAt` in epoch milliseconds. */
const assetWire = ({ token, size, uploadedAt }: ListedAsset) => ({
  encryptedFilename: token,
  sizeBytes: size,
  uploadedAt: uploadedAt.getTime(),
});

interface DeletedAsset {
  readonly token: string;
  readonly deleted: boolean;
}

const TOKEN = matching(ASSET_TOKEN);

const ASSET = named(
  'Asset',
  objectOf<ReturnType<typeof assetWire>>({ encryptedFilename: TOKEN, sizeBytes: COUNT, uploadedAt: COUNT }),
);

export const STORAGE_USAGE = named(
  'AssetUsage',
  objectOf<StorageUsage>({
    usedBytes: COUNT,
    quotaBytes: COUNT,
    plan: oneOf('free', 'pro'),
    addonBytes: COUNT,
    locked: BOOLEAN,
  }),
);

const DELETED = objectOf({
  results: arrayOf(named('DeletedAsset', objectOf<DeletedAsset>({ token: TOKEN, deleted: BOOLEAN }))),
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

/** class-validator checks the last decorator of a property first, so the type check is the one closest to the property. */

class RenameAssetRequest {
  @Matches(NEW_ASSET_TOKEN, { message: `newEncryptedFilename ${NEW_ASSET_TOKEN_RULE}` })
  newEncryptedFilename: string;
}

class DeleteAssetsRequest {
  @Matches(ASSET_TOKEN, { each: true, message: `each of tokens ${ASSET_TOKEN_RULE}` })
  @ArrayUnique()
  @ArrayMaxSize(1000)
  @IsArray()
  tokens: string[];
}

const JSON_TYPE = 'application/json; charset=utf-8';

@Controller('api/assets')
@Documented(ASSETS_DOCS)
export class AssetsController {
  constructor(
    private readonly assets: Assets,
    private readonly uploads: AssetUploads,
    private readonly download: AssetDownload,
    private readonly quota: StorageQuota,
    private readonly bodies: UploadBodies,
  ) {}

  @Get('list')
  @Scopes('assets:read')
  @NamedWorkspace()
  async list(@CurrentWorkspace() workspace: WorkspaceRef, @Res() reply: FastifyReply): Promise<void> {
    const form = { before: '[', after: ']', wire: assetWire };
    await sendJsonList(reply, this.assets.list(workspace.id), form);
  }

  @Get('usage')
  @Scopes('assets:read')
  @NamedWorkspace()
  usage(@CurrentPrincipal() owner: Principal): Promise<StorageUsage> {
    return this.quota.usage(owner.userId);
  }

  @Transfer()
  @Post()
  @Scopes('assets:write')
  @NamedWorkspace()
  async upload(
    @CurrentWorkspace() workspace: WorkspaceRef,
    @CurrentPrincipal() owner: Principal,
    @IdempotencyKey() idempotencyKey: string | null,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const upload = { workspaceId: workspace.id, ownerId: owner.userId, idempotencyKey };
    const token = await this.bodies.lend(request.raw, owner.userId, (body) =>
      this.uploads.upload(upload, body),
    );
    await reply.status(201).header('content-type', JSON_TYPE).send(JSON.stringify(token));
  }

  @Transfer()
  @Get(':token')
  @Scopes('assets:read')
  @NamedWorkspace()
  async get(
    @CurrentWorkspace() workspace: WorkspaceRef,
    @AssetToken() token: string,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    await this.download.send(reply, workspace.id, token);
  }

  @Patch(':token')
  @Scopes('full')
  @NamedWorkspace()
  async rename(
    @CurrentWorkspace() workspace: WorkspaceRef,
    @AssetToken() token: string,
    @JsonBody() body: RenameAssetRequest,
  ): Promise<{ ok: true }> {
    await this.assets.rename(workspace.id, token, body.newEncryptedFilename);
    return { ok: true };
  }

  @Delete(':token')
  @Scopes('full')
  @NamedWorkspace()
  async delete(
    @CurrentWorkspace() workspace: WorkspaceRef,
    @AssetToken() token: string,
  ): Promise<{ ok: true }> {
    await this.assets.delete(workspace.id, [token]);
    return { ok: true };
  }

  @Post('batch-delete')
  @HttpCode(200)
  @Scopes('full')
  @NamedWorkspace()
  async deleteBatch(
    @CurrentWorkspace() workspace: WorkspaceRef,
    @JsonBody() { tokens }: DeleteAssetsRequest,
  ): Promise<{ results: DeletedAsset[] }> {
    const deleted = await this.assets.delete(workspace.id, tokens);
    return { results: tokens.map((token) => ({ token, deleted: deleted.has(token) })) };
  }

  /** The service has no access to the user's file system; clients that have it offer the same route. */
  @Post('import')
  @OpenWhenReadOnly('always refused')
  @Scopes(...SCOPES)
  @BoundTokensToo('always refused')
  import(): never {
    throw new BadRequest('assets cannot be imported here: there is no local file system');
  }
}
