import { Controller, Get } from '@nestjs/common';
import { OwnedWorkspace, RequiresSubscription, Scopes } from '../../../access/index.js';
import { Documented } from '../../../platform/api-docs/index.js';
import { BadRequest, fromRequest } from '../../../platform/http/index.js';
import { clampTextLimit } from '../../sync/index.js';
import { CurrentVault, NeedsKeySession } from '../key-sessions.controller.js';
import { SEARCH_DOCS } from '../notes.controller.js';
import type { Vault } from '../contents.js';
import { Search, type SearchResult } from './search.service.js';

const MAX_QUERY = 256;
const DEFAULT_LIMIT = 20;
const MAX_LIMIT = 100;

interface SearchQuery {
  readonly q: string;
  readonly limit: number;
}

/** `q`, 1 to 256 characters, and `limit`, clamped to 1..100; 20 when it is not a number. */
const SearchParams = fromRequest(({ query }): SearchQuery => {
  const { q, limit } = query as Record<string, unknown>;
  if (typeof q !== 'string' || q.trim() === '' || q.length > MAX_QUERY)
    throw new BadRequest(`q must be 1 to ${MAX_QUERY} characters`);
  return { q, limit: clampTextLimit(limit, MAX_LIMIT, DEFAULT_LIMIT) };
});

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
