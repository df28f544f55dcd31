import { Global, Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { BearerAuthenticator } from '../../access/index.js';
import { MailModule } from '../../platform/mail/index.js';
import { AccessEndings } from './access-endings.js';
import { Administrators, Suspensions, UserMarks } from './administrators.js';
import {
  AccessToken,
  AuthAccount,
  AuthSession,
  AuthVerification,
  EndedSession,
  KnownNetwork,
  MailLink,
  SigningKey,
  UserEntity,
  WrongPassword,
} from './auth.entities.js';
import { Authenticator } from './authenticator.js';
import { BrowserFactors, BrowserSessions } from './browser-sessions.js';
import { AccountProof, CurrentPassword } from './current-password.js';
import { DevLoginController, DevLoginGuard } from './dev-login.controller.js';
import { EmailChange, EmailLinks, EmailVerification } from './email-verification.js';
import { EndedSessions } from './ended-sessions.js';
import { FactorReset } from './factor-reset.js';
import { FactorActions, PendingSignIns, SecondFactor, SecondFactors } from './factors/index.js';
import { IdentityController } from './identity.controller.js';
import { IdentityClient, provideIdentity } from './identity.provider.js';
import { IdentityServices } from './identity.js';
import { JwtVerifier, KeySet, SigningKeys } from './jwt-verifier.js';
import { LinkTokens, MailLimit, MailLinks, provideLinkKey } from './mail-links.js';
import { MeController } from './me.controller.js';
import { NewSessions } from './new-sessions.js';
import { Passkey, Passkeys } from './passkeys/index.js';
import { PasswordHasher } from './password-hasher.js';
import { PasswordChange, PasswordRecovery, PasswordReset } from './password-recovery.js';
import { PatVerifier } from './pat-verifier.js';
import { RecentSignIn } from './recent-sign-in.js';
import { IdentityPasswords, SignInPasswords } from './sign-in-passwords.js';
import {
  LinkedAccounts,
  Provider,
  ProviderLinks,
  ProviderMetadata,
  ProviderSignIns,
  SingleSignOn,
} from './single-sign-on/index.js';
import { SessionCap, UserSessions } from './user-sessions.js';
import { Users } from './users.js';
import { GuessLimit, KnownNetworks, WrongPasswords } from './wrong-passwords.js';

export {
  AccessToken,
  AuthSession,
  Invitation,
  KnownNetwork,
  liveTokens,
  UserEntity,
} from './auth.entities.js';
export { Administrators, Suspensions, USER_SUSPENDED } from './administrators.js';
export {
  BrowserFactors,
  type BrowserSession,
  BrowserSessions,
  type Refusal,
  type SignedIn,
} from './browser-sessions.js';
export { EmailChange, EmailVerification } from './email-verification.js';
export { type FactorCounts, FactorReset } from './factor-reset.js';
export { SecondFactors } from './factors/index.js';
export { EMAIL_RULE, isEmailAddress, isMailable, lockOwnUser } from './account-fields.js';
export {
  type AccountClaim,
  faultOfPassword,
  generatePassword,
  ONE_TIME_TOKEN_MINUTES,
  PASSWORD_FAULTS,
  PASSWORD_LENGTH,
  type ProofFault,
} from './current-password.js';
export { Authenticator, type Lapsed } from './authenticator.js';
export { EndedSessions, SessionEnded } from './ended-sessions.js';
export { type Client, NO_PASSWORDS } from './identity-request.js';
export { GuessLimit, HOUR_MS, KNOWN_FOR_MS } from './wrong-passwords.js';
export { type LinkTarget, LinkTokens, MailLimit } from './mail-links.js';
export { type ListedPasskey, MAX_PASSKEYS, Passkeys } from './passkeys/index.js';
export { PasswordChange, PasswordRecovery, PasswordReset, type RecoveryFault } from './password-recovery.js';
export { HashingBusy, PasswordCost, PasswordCostModule, PasswordHasher } from './password-hasher.js';
export { RecentSignIn } from './recent-sign-in.js';
export { equalSecrets, generatePat, hashPat, TOKEN_REVOKED } from './pat-verifier.js';
export { SigningKeys } from './jwt-verifier.js';
export {
  type LinkState,
  ProviderLinks,
  SingleSignOn,
  type SingleSignOnRefusal,
} from './single-sign-on/index.js';
export { type ListedSession, MOST_LISTED, UserSessions } from './user-sessions.js';
export { Users } from './users.js';

const ENTITIES = [
  AccessToken,
  AuthAccount,
  AuthSession,
  AuthVerification,
  EndedSession,
  KnownNetwork,
  MailLink,
  Passkey,
  SecondFactor,
  SigningKey,
  UserEntity,
  WrongPassword,
];

const PROVIDERS = [
  AccessEndings,
  AccountProof,
  Administrators,
  Authenticator,
  BrowserFactors,
  BrowserSessions,
  CurrentPassword,
  DevLoginGuard,
  EmailChange,
  EmailLinks,
  EmailVerification,
  EndedSessions,
  FactorActions,
  FactorReset,
  GuessLimit,
  IdentityClient,
  IdentityPasswords,
  IdentityServices,
  JwtVerifier,
  KeySet,
  KnownNetworks,
  LinkedAccounts,
  LinkTokens,
  MailLimit,
  MailLinks,
  NewSessions,
  Passkeys,
  PasswordChange,
  PasswordHasher,
  PasswordRecovery,
  PasswordReset,
  PatVerifier,
  PendingSignIns,
  provideIdentity,
  provideLinkKey,
  Provider,
  ProviderLinks,
  ProviderMetadata,
  ProviderSignIns,
  RecentSignIn,
  SecondFactors,
  SessionCap,
  SigningKeys,
  SignInPasswords,
  SingleSignOn,
  Suspensions,
  Users,
  UserMarks,
  UserSessions,
  WrongPasswords,
];

@Module({
  imports: [MailModule, TypeOrmModule.forFeature(ENTITIES)],
  controllers: [IdentityController, DevLoginController, MeController],
  providers: PROVIDERS,
  exports: [
    Administrators,
    Authenticator,
    BrowserFactors,
    BrowserSessions,
    EmailChange,
    EmailVerification,
    EndedSessions,
    FactorReset,
    GuessLimit,
    LinkTokens,
    MailLimit,
    Passkeys,
    PasswordChange,
    PasswordHasher,
    PasswordRecovery,
    PasswordReset,
    ProviderLinks,
    RecentSignIn,
    SecondFactors,
    SigningKeys,
    SingleSignOn,
    Suspensions,
    Users,
    UserSessions,
  ],
})
export class AuthModule {}

/** Provides the authenticator that the guards of `access` use. */
@Global()
@Module({
  imports: [AuthModule],
  providers: [{ provide: BearerAuthenticator, useExisting: Authenticator }],
  exports: [BearerAuthenticator],
})
export class BearerAuthenticationModule {}
