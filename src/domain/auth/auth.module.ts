import { Global, Module } from '@nestjs/common';
import { BearerAuthenticator } from '../../access/index.js';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AccountProof } from './account-proof.js';
import { AccessToken } from './access-token.entity.js';
import { AccessEndings } from './access-endings.js';
import { Administrators } from './administrators.js';
import { Authenticator } from './authenticator.js';
import { BrowserFactors } from './browser-factors.js';
import { BrowserSessions } from './browser-sessions.js';
import { CurrentPassword } from './current-password.js';
import { DevLoginController, DevLoginGuard } from './dev-login.controller.js';
import { EndedSessions } from './ended-sessions.js';
import { FactorReset } from './factor-reset.js';
import { FactorActions, PendingSignIns, SecondFactor, SecondFactors } from './factors/index.js';
import { EmailChange, EmailLinks } from './email-change.js';
import { EmailVerification } from './email-verification.js';
import { GuessLimit } from './guess-limit.js';
import { IdentityPasswords, SignInPasswords } from './sign-in-passwords.js';
import { IdentityController } from './identity.controller.js';
import { provideIdentity } from './identity.provider.js';
import { IdentityClient } from './identity-client.js';
import { JwtVerifier } from './jwt-verifier.js';
import { KeySet } from './key-set.js';
import { KnownNetworks } from './known-networks.js';
import { MailLimit } from './mail-limit.js';
import { LinkTokens, provideLinkKey } from './link-tokens.js';
import { MailLinks } from './mail-links.js';
import { MailModule } from '../../platform/mail/index.js';
import { NewSessions } from './new-sessions.js';
import { MeController } from './me.controller.js';
import { Passkey, Passkeys } from './passkeys/index.js';
import { PasswordChange } from './password-change.js';
import { PasswordHasher } from './password-hasher.js';
import { PasswordRecovery } from './password-recovery.js';
import { PasswordReset } from './password-reset.js';
import { PatVerifier } from './pat-verifier.js';
import { RecentSignIn } from './recent-sign-in.js';
import { SigningKeys } from './signing-keys.js';
import {
  LinkedAccounts,
  Provider,
  ProviderLinks,
  ProviderMetadata,
  ProviderSignIns,
  SingleSignOn,
} from './single-sign-on/index.js';
import { Suspensions } from './suspensions.js';
import { AuthAccount } from './auth-account.entity.js';
import { AuthSession } from './auth-session.entity.js';
import { AuthVerification } from './auth-verification.entity.js';
import { EndedSession } from './ended-session.entity.js';
import { KnownNetwork } from './known-network.entity.js';
import { MailLink } from './mail-link.entity.js';
import { SessionCap } from './session-cap.js';
import { SigningKey } from './signing-key.entity.js';
import { UserEntity } from './user.entity.js';
import { WrongPassword } from './wrong-password.entity.js';
import { UserSessions } from './user-sessions.js';
import { Users } from './users.js';
import { WrongPasswords } from './wrong-passwords.js';

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

@Module({
  imports: [MailModule, TypeOrmModule.forFeature(ENTITIES)],
  controllers: [IdentityController, DevLoginController, MeController],
  providers: [
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
    SignInPasswords,
    IdentityClient,
    IdentityPasswords,
    JwtVerifier,
    KeySet,
    KnownNetworks,
    LinkTokens,
    MailLimit,
    MailLinks,
    LinkedAccounts,
    NewSessions,
    Passkeys,
    PasswordChange,
    PasswordHasher,
    PasswordRecovery,
    PasswordReset,
    PatVerifier,
    PendingSignIns,
    provideLinkKey,
    provideIdentity,
    Provider,
    ProviderLinks,
    ProviderMetadata,
    ProviderSignIns,
    RecentSignIn,
    SecondFactors,
    SessionCap,
    SigningKeys,
    SingleSignOn,
    Suspensions,
    Users,
    UserSessions,
    WrongPasswords,
  ],
  exports: [
    Administrators,
    Authenticator,
    BrowserFactors,
    BrowserSessions,
    FactorReset,
    Passkeys,
    EmailChange,
    EmailVerification,
    EndedSessions,
    GuessLimit,
    LinkTokens,
    MailLimit,
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

/** Gives the guards of `access` the port that they authenticate with. */
@Global()
@Module({
  imports: [AuthModule],
  providers: [{ provide: BearerAuthenticator, useExisting: Authenticator }],
  exports: [BearerAuthenticator],
})
export class BearerAuthenticationModule {}
