import { Forbidden } from '../platform/http/index.js';
import type { Principal } from './route-access.js';

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
