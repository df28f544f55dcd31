import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { afterBody, declared, Forbidden, Unauthorized } from '../platform/http/index.js';
import { requestScope } from '../platform/log.js';
import { GeneralLimit } from './rate-limit.guard.js';
import { ACCESS, type Access, type AuthenticatedRequest, type Principal } from './route-access.js';

/** The operator has suspended the account: every request is refused until it is resumed. No data is lost. */
export class AccountSuspended extends Forbidden {
  constructor() {
    super('the account is suspended');
  }
}

/** Port: verifies bearer tokens for the guards. The implementation is in `domain/auth`. */
export abstract class BearerAuthenticator {
  /** @throws Unauthorized unless the token is valid in every respect, AccountSuspended for an access token */
  abstract verify(token: string): Promise<Principal>;

  /** For routes whose effect may outlive the session of a JWT. @throws SessionEnded when it has ended on any instance */
  abstract requireSession(principal: Principal): Promise<void>;

  /** Returns a function that checks the verified token again later. It throws Unauthorized, or AccountSuspended. */
  abstract recheck(principal: Principal): () => Promise<void>;
}

const BEARER = /^Bearer +([\x21-\x7e]+)$/i;

/** The token of an Authorization header; undefined if the header is absent or malformed. */
export const bearerIn = (authorization: string | undefined): string | undefined =>
  BEARER.exec(authorization ?? '')?.[1];

/**
 * Adds a Principal to the request, or answers 401, or 403 for the access token of a suspended user. `WorkspaceAccessGuard` checks
 * that the user of a JWT still exists and is not suspended.
 */
@Injectable()
export class AuthenticationGuard implements CanActivate {
  constructor(
    private readonly authenticator: BearerAuthenticator,
    private readonly limit: GeneralLimit,
  ) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const access = declared(context, ACCESS) as Access | undefined;
    if (access?.kind === 'public') return true;

    const request = context.switchToHttp().getRequest<AuthenticatedRequest>();
    try {
      const token = bearerIn(request.headers.authorization);
      if (!token) throw new Unauthorized();
      request.principal = await this.authenticator.verify(token);
      const scope = requestScope.getStore();
      if (scope) scope.userId = request.principal.userId;
      afterBody(request.raw, this.authenticator.recheck(request.principal));
    } catch (error) {
      // Counted by address: no later guard sees the request.
      if (error instanceof Unauthorized || error instanceof AccountSuspended)
        await this.limit.count({ ip: request.ip });
      throw error;
    }
    return true;
  }
}
