import { Controller, Delete, Get, Post, Req } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import {
  CurrentPrincipal,
  CurrentWorkspace,
  OwnedWorkspace,
  type Principal,
  RequiresSubscription,
  Scopes,
  type WorkspaceRef,
} from '../../access/index.js';
import { byUser } from '../auth/audit/index.js';
import { JsonBody } from '../../platform/http/index.js';
import { Documented } from '../../platform/api-docs/index.js';
import { KEY_SESSIONS_DOCS } from './automation.docs.js';
import { CurrentVault, NeedsKeySession } from './key-session.guard.js';
import { OpenKeySessionRequest } from './key-check.js';
import { KeySessions } from './key-sessions.service.js';
import { Metadata, type VaultMetadata } from './metadata.service.js';
import type { Vault } from './vault.js';

const BODY_LIMIT = 16 * 1024;

/** The routes that a client calls before and after working with plaintext. */
@Controller('api/v1/automation/workspaces/:id')
@Documented(KEY_SESSIONS_DOCS)
@OwnedWorkspace()
export class KeySessionsController {
  constructor(
    private readonly sessions: KeySessions,
    private readonly metadata: Metadata,
  ) {}

  @Get('metadata')
  @Scopes('documents:read', 'assets:read')
  @RequiresSubscription('assets:read') // asset rule 6
  getMetadata(@CurrentWorkspace() workspace: WorkspaceRef): Promise<VaultMetadata> {
    return this.metadata.of(workspace.id);
  }

  @Post('key-sessions')
  @Scopes('documents:read', 'documents:write')
  @RequiresSubscription()
  async open(
    @CurrentPrincipal() principal: Principal,
    @CurrentWorkspace() workspace: WorkspaceRef,
    @JsonBody(BODY_LIMIT) body: OpenKeySessionRequest,
    @Req() request: FastifyRequest,
  ): Promise<{ keySession: string; expiresAt: string }> {
    const { token, expiresAt } = await this.sessions.open(principal, workspace.id, body, byUser(request));
    return { keySession: token, expiresAt: expiresAt.toISOString() };
  }

  @Delete('key-sessions/current')
  @Scopes('documents:read', 'documents:write')
  @RequiresSubscription()
  @NeedsKeySession()
  async end(@CurrentVault() { sessionId }: Vault): Promise<{ ok: true }> {
    await this.sessions.end(sessionId);
    return { ok: true };
  }
}
