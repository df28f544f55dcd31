import {
  applyDecorators,
  type CallHandler,
  type CanActivate,
  createParamDecorator,
  type ExecutionContext,
  Injectable,
  type NestInterceptor,
  UseGuards,
  UseInterceptors,
} from '@nestjs/common';
import { finalize, type Observable } from 'rxjs';
import type { AuthenticatedRequest, WorkspaceRef } from '../../access/index.js';
import { afterBody } from '../../platform/http/index.js';
import { KeySessions } from './key-sessions.service.js';
import { type Vault, wipe } from './vault.js';

type VaultRequest = AuthenticatedRequest & { workspace: WorkspaceRef; vault: Vault };

const requestOf = (context: ExecutionContext): VaultRequest =>
  context.switchToHttp().getRequest<VaultRequest>();

/**
 * Runs after all global guards, so it reveals nothing to unauthorized callers: 401 unless `X-Key-Session` opens the
 * workspace.
 */
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

/**
 * Wipes the keys when the handler has finished, not when the client disconnects: the handler may still be encrypting
 * then.
 */
@Injectable()
class KeyWiper implements NestInterceptor {
  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const { vault } = requestOf(context);
    return next.handle().pipe(finalize(() => wipe(vault)));
  }
}

/**
 * Marks a route that reads or writes plaintext: it requires a key session and receives the vault through
 * `@CurrentVault()`.
 */
export const NeedsKeySession = (): MethodDecorator & ClassDecorator =>
  applyDecorators(UseGuards(KeySessionGuard), UseInterceptors(KeyWiper));

export const CurrentVault = createParamDecorator(
  (_: unknown, context: ExecutionContext): Vault => requestOf(context).vault,
);
