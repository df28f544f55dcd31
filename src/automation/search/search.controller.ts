import { Controller, Get } from '@nestjs/common';
import { OwnedWorkspace, RequiresSubscription, Scopes } from '../../access/index.js';
import { Documented } from '../../api-docs/index.js';
import { CurrentVault, NeedsKeySession } from '../key-session.guard.js';
import { SEARCH_DOCS } from '../notes.docs.js';
import type { Vault } from '../vault.js';
import { type SearchQuery, SearchParams } from './search.params.js';
import { Search, type SearchResult } from './search.service.js';

@Controller('api/v1/automation/workspaces/:id/search')
@Documented(SEARCH_DOCS)
@OwnedWorkspace()
@RequiresSubscription()
@NeedsKeySession()
export class SearchController {
  constructor(private readonly notes: Search) {}

  @Get()
  @Scopes('documents:read')
  async search(
    @CurrentVault() vault: Vault,
    @SearchParams() { q, limit }: SearchQuery,
  ): Promise<{ results: SearchResult[] }> {
    return { results: await this.notes.search(vault, q, limit) };
  }
}
