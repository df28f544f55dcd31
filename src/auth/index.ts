export {
  type AuthenticatedRequest,
  CurrentPrincipal,
  Interactive,
  Public,
  Scopes,
  SeesDeletedUsers,
  Unbound,
} from './access.js';
export { AuthModule } from './auth.module.js';
export { AuthenticationGuard } from './authentication.guard.js';
export { GeneralLimit } from './general-limit.js';
export { equalSecrets } from './equal-secrets.js';
export { Authenticator } from './authenticator.js';
export { generatePat, hashPat, TOKEN_REVOKED } from './pat.js';
export { type Principal, type Scope, SCOPES } from './principal.js';
export { RateLimitGuard, Unlimited } from './rate-limit.guard.js';
export { isGranted, ScopeGuard } from './scope.guard.js';
export { SigningKeys } from './signing-keys.js';
export { UserEntity } from './user.entity.js';
export { Users } from './users.js';
