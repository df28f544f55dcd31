import { Controller, Get } from '@nestjs/common';
import { StorageQuota, storageUsageWire } from '../assets/index.js';
import { BoundTokensToo, CurrentPrincipal, type Principal, Scopes } from '../access/index.js';
import { DocumentQuota } from '../files/index.js';
import { Documented } from '../api-docs/index.js';
import { USAGE_DOCS } from './usage.docs.js';
import { type UsageWire, workspaceUsageWire } from './usage.wire.js';

@Controller('api/v1/usage')
@Documented(USAGE_DOCS)
export class UsageController {
  constructor(
    private readonly documents: DocumentQuota,
    private readonly assets: StorageQuota,
  ) {}

  @Get()
  @BoundTokensToo('sees its workspace alone, and the sums of the account, to which its uploads are held')
  @Scopes('documents:read', 'documents:write')
  async get(@CurrentPrincipal() { userId, workspaceId }: Principal): Promise<UsageWire> {
    const { usedBytes, quotaBytes, workspaces } = await this.documents.usage(userId, workspaceId);
    return {
      documents: { usedBytes, quotaBytes, workspaces: workspaces.map(workspaceUsageWire) },
      assets: storageUsageWire(await this.assets.usage(userId)),
    };
  }
}
