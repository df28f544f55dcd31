import { Controller, Get } from '@nestjs/common';
import { StorageQuota, storageUsageWire, type StorageUsageWire } from '../assets/index.js';
import { CurrentPrincipal, type Principal, Scopes } from '../auth/index.js';
import { DocumentQuota, type WorkspaceUsage } from '../files/index.js';
import { Documented } from '../platform/openapi/index.js';
import { USAGE_DOCS } from './usage.docs.js';

export interface UsageWire {
  documents: DocumentUsageWire;
  assets: StorageUsageWire;
}

export interface DocumentUsageWire {
  usedBytes: number;
  /** 0: unlimited. */
  quotaBytes: number;
  workspaces: WorkspaceUsageWire[];
}

export type WorkspaceUsageWire = WorkspaceUsage;

@Controller('api/v1/usage')
@Documented(USAGE_DOCS)
export class UsageController {
  constructor(
    private readonly documents: DocumentQuota,
    private readonly assets: StorageQuota,
  ) {}

  /** A bound token sees its workspace alone, and the sums of the account: its uploads are held to them. */
  @Get()
  @Scopes('documents:read', 'documents:write')
  async get(@CurrentPrincipal() { userId, workspaceId }: Principal): Promise<UsageWire> {
    const { usedBytes, quotaBytes, workspaces } = await this.documents.usage(userId);
    const seen = workspaces.filter(({ id }) => workspaceId === null || id === workspaceId);
    return {
      documents: { usedBytes, quotaBytes, workspaces: seen.map(workspaceUsageWire) },
      assets: storageUsageWire(await this.assets.usage(userId)),
    };
  }
}

function workspaceUsageWire({ id, usedBytes, files }: WorkspaceUsage): WorkspaceUsageWire {
  return { id, usedBytes, files };
}
