export { AccessToken, liveTokens } from './access-token.entity.js';
export { Administrators } from './administrators.js';
export { AuthModule, BearerAuthenticationModule } from './auth.module.js';
export { BrowserFactors, type CodeRefusal } from './browser-factors.js';
export {
  type BrowserSession,
  BrowserSessions,
  type Client,
  type Refusal,
  type SignedIn,
  type WaitsForFactor,
} from './browser-sessions.js';
export { EmailChange } from './email-change.js';
export { EmailVerification } from './email-verification.js';
export { type FactorCounts, FactorReset } from './factor-reset.js';
export { type EnteredCode, SecondFactors } from './factors/index.js';
export { EMAIL_RULE, isEmailAddress, isMailable } from './email-address.js';
export type { AccountClaim, ProofFault } from './account-proof.js';
export { ENDINGS, type Ending } from './access-endings.js';
export { Authenticator, type Lapsed } from './authenticator.js';
export { AuthSession } from './auth-session.entity.js';
export { EndedSessions, SessionEnded } from './ended-sessions.js';
export { Invitation } from './invitation.entity.js';
export { lockOwnUser } from './lock-user.js';
export { NO_PASSWORDS } from './identity-actions.js';
export { GuessLimit } from './guess-limit.js';
export { KnownNetwork } from './known-network.entity.js';
export { KNOWN_FOR_MS } from './known-networks.js';
export { LinkTokens } from './link-tokens.js';
export { MailLimit } from './mail-limit.js';
export type { LinkTarget } from './mail-links.js';
export { type ListedPasskey, MAX_PASSKEYS, Passkeys } from './passkeys/index.js';
export { type ChangeFault, PasswordChange } from './password-change.js';
export type { ScryptCost } from './password-hash.js';
export { HashingBusy, PasswordCost, PasswordCostModule, PasswordHasher } from './password-hasher.js';
export {
  faultOfPassword,
  generatePassword,
  ONE_TIME_TOKEN_MINUTES,
  PASSWORD_FAULTS,
  PASSWORD_LENGTH,
  type PasswordFault,
} from './password-policy.js';
export type { CurrentPasswordFault } from './current-password.js';
export { PasswordRecovery, type RecoveryFault } from './password-recovery.js';
export { PasswordReset } from './password-reset.js';
export { RecentSignIn } from './recent-sign-in.js';
export { equalSecrets, generatePat, hashPat, TOKEN_REVOKED } from './token-secrets.js';
export { SigningKeys } from './signing-keys.js';
export {
  type LinkState,
  ProviderLinks,
  SingleSignOn,
  type SingleSignOnRefusal,
} from './single-sign-on/index.js';
export { Suspensions, USER_SUSPENDED } from './suspensions.js';
export { UserEntity } from './user.entity.js';
export { type ListedSession, MOST_LISTED, UserSessions } from './user-sessions.js';
export { Users } from './users.js';
export { HOUR_MS } from './wrong-passwords.js';
