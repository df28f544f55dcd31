import {
  applyDecorators,
  type CallHandler,
  type CanActivate,
  Controller,
  createParamDecorator,
  Delete,
  type ExecutionContext,
  Get,
  Injectable,
  type NestInterceptor,
  Post,
  Req,
  UseGuards,
  UseInterceptors,
} from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { finalize, type Observable } from 'rxjs';
import { MASTER_KEY_KDF } from '../../../crypto/src/index.js';
import {
  type AuthenticatedRequest,
  CurrentPrincipal,
  CurrentWorkspace,
  OwnedWorkspace,
  type Principal,
  RequiresSubscription,
  Scopes,
  type WorkspaceRef,
} from '../../access/index.js';
import { Documented } from '../../platform/api-docs/index.js';
import { afterBody, JsonBody } from '../../platform/http/index.js';
import { byUser } from '../auth/audit/index.js';
import { Workspaces } from '../workspaces/index.js';
import { KEY_SESSIONS_DOCS, type VaultMetadata } from './automation.docs.js';
import { type Vault, wipe } from './contents.js';
import { OpenKeySessionRequest } from './key-check.js';
import { KeySessions } from './key-sessions.service.js';

type VaultRequest = AuthenticatedRequest & { workspace: WorkspaceRef; vault: Vault };

const requestOf = (context: ExecutionContext): VaultRequest =>
  context.switchToHttp().getRequest<VaultRequest>();

/** 401 unless `X-Key-Session` opens the workspace. Runs after all global guards, so unauthorized callers learn nothing. */
@Injectable()
class KeySessionGuard implements CanActivate {
  constructor(private readonly sessions: KeySessions) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const request = requestOf(context);
    const { raw, headers, principal, workspace } = request;
    const vault = await this.sessions.unlock(headers['x-key-session'], principal.userId, workspace.id);
    afterBody(raw, () => this.sessions.requireLive(vault.sessionId));
    request.vault = vault;
    return true;
  }
}

/** Wipes the keys when the handler has finished, not when the client disconnects: the handler may still be encrypting then. */
@Injectable()
class KeyWiper implements NestInterceptor {
  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const { vault } = requestOf(context);
    return next.handle().pipe(finalize(() => wipe(vault)));
  }
}

/** Marks a route that reads or writes plaintext: it requires a key session and receives the vault through `@CurrentVault()`. */
export const NeedsKeySession = (): MethodDecorator & ClassDecorator =>
  applyDecorators(UseGuards(KeySessionGuard), UseInterceptors(KeyWiper));

export const CurrentVault = createParamDecorator(
  (_: unknown, context: ExecutionContext): Vault => requestOf(context).vault,
);

const BODY_LIMIT = 16 * 1024;

/** The routes that a client calls before and after working with plaintext. */
@Controller('api/v1/automation/workspaces/:id')
@Documented(KEY_SESSIONS_DOCS)
@OwnedWorkspace()
export class KeySessionsController {
  constructor(
    private readonly sessions: KeySessions,
    private readonly workspaces: Workspaces,
  ) {}

  @Get('metadata')
  @Scopes('documents:read', 'assets:read')
  @RequiresSubscription('assets:read') // asset rule 6
  async getMetadata(@CurrentWorkspace() { id }: WorkspaceRef): Promise<VaultMetadata> {
    const { name, encryptionSalt, verificationSalt } = await this.workspaces.get(id);
    return { workspaceId: id, name, encryptionSalt, verificationSalt, kdf: MASTER_KEY_KDF };
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
