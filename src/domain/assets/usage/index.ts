import { Controller, Get, Module } from '@nestjs/common';
import { BoundTokensToo, CurrentPrincipal, type Principal, Scopes } from '../../../access/index.js';
import { arrayOf, COUNT, Documented, json, named, objectOf, UUID } from '../../../platform/api-docs/index.js';
import { DocumentQuota, type DocumentUsage, FilesModule, type WorkspaceUsage } from '../../files/index.js';
import { WorkspacesModule } from '../../workspaces/index.js';
import { AssetsModule, STORAGE_USAGE, StorageQuota, type StorageUsage } from '../index.js';

interface Usage {
  readonly documents: DocumentUsage;
  readonly assets: StorageUsage;
}

const WORKSPACE = named(
  'WorkspaceUsage',
  objectOf<WorkspaceUsage>({ id: UUID, usedBytes: COUNT, files: COUNT }),
);

const DOCUMENTS = named(
  'DocumentUsage',
  objectOf<DocumentUsage>({
    usedBytes: COUNT,
    quotaBytes: { ...COUNT, description: '0 means unlimited.' },
    workspaces: arrayOf(WORKSPACE),
  }),
);

const USAGE_DOCS = {
  tag: 'Usage',
  operations: {
    get: {
      summary: 'Get the storage use and quotas of the account',
      description:
        'Documents count the bytes of all versions that are kept, each blob once. `files` counts live files. A token ' +
        'that is bound to a workspace gets only that workspace, and the totals of the account.',
      answers: {
        200: json(
          'the use of documents by workspace, and of assets',
          objectOf<Usage>({ documents: DOCUMENTS, assets: STORAGE_USAGE }),
        ),
      },
    },
  },
} as const;

@Controller('api/v1/usage')
@Documented(USAGE_DOCS)
export class UsageController {
  constructor(
    private readonly documents: DocumentQuota,
    private readonly assets: StorageQuota,
  ) {}

  @Get()
  @BoundTokensToo('shows only its workspace, and the account totals that limit its uploads')
  @Scopes('documents:read', 'documents:write')
  async get(@CurrentPrincipal() { userId, workspaceId }: Principal): Promise<Usage> {
    return {
      documents: await this.documents.usage(userId, workspaceId),
      assets: await this.assets.usage(userId),
    };
  }
}

@Module({ imports: [AssetsModule, FilesModule, WorkspacesModule], controllers: [UsageController] })
export class UsageModule {}
