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
import { Documented } from '../../platform/api-docs/index.js';
import { BadRequest, JsonBody, sendJsonList } from '../../platform/http/index.js';
import { OpenWhenReadOnly } from '../../platform/kill-switch/index.js';
import { AssetDownload } from './asset-download.js';
import {
  ASSET_TOKEN,
  ASSET_TOKEN_RULE,
  AssetToken,
  IdempotencyKey,
  NEW_ASSET_TOKEN,
  NEW_ASSET_TOKEN_RULE,
} from './asset-headers.js';
import { AssetUploads } from './asset-uploads.js';
import {
  ASSETS_DOCS,
  assetWire,
  deletedAssetsWire,
  type DeletedAssetWire,
  storageUsageWire,
  type StorageUsageWire,
} from './assets.docs.js';
import { Assets } from './assets.service.js';
import { StorageQuota } from './storage-quota.js';
import { UploadBodies } from './upload-bodies.js';

/**
 * class-validator checks the last decorator of a property first, so the type check is the one closest to the
 * property.
 */

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
  async list(
    @CurrentWorkspace() workspace: WorkspaceRef,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const form = { before: '[', after: ']', wire: assetWire };
    await sendJsonList(request, reply, this.assets.list(workspace.id), form);
  }

  @Get('usage')
  @Scopes('assets:read')
  @NamedWorkspace()
  async usage(@CurrentPrincipal() owner: Principal): Promise<StorageUsageWire> {
    return storageUsageWire(await this.quota.usage(owner.userId));
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
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    await this.download.send(request, reply, { workspaceId: workspace.id, token });
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
  ): Promise<{ results: DeletedAssetWire[] }> {
    return { results: deletedAssetsWire(tokens, await this.assets.delete(workspace.id, tokens)) };
  }

  /** The service has no local file system of the user's; clients that have one offer the same route. */
  @Post('import')
  @OpenWhenReadOnly('always refused')
  @Scopes(...SCOPES)
  @BoundTokensToo('always refused')
  import(): never {
    throw new BadRequest('assets cannot be imported here: there is no local file system');
  }
}
