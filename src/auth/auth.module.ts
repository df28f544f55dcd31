import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { Authenticator } from './authenticator.js';
import { BrowserSessions } from './browser-sessions.js';
import { CurrentPassword } from './current-password.js';
import { DevLoginController, DevLoginGuard } from './dev-login.controller.js';
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
import { MailLinks, provideLinkKey } from './mail-links.js';
import { MailModule } from '../mail/index.js';
import { MeController } from './me.controller.js';
import { PasswordChange } from './password-change.js';
import { PasswordHasher } from './password-hasher.js';
import { PasswordRecovery } from './password-recovery.js';
import { PasswordReset } from './password-reset.js';
import { PatVerifier } from './pat-verifier.js';
import { RecentSignIn } from './recent-sign-in.js';
import { SigningKeys } from './signing-keys.js';
import { Suspensions } from './suspensions.js';
import { UserEntity } from './user.entity.js';
import { UserSessions } from './user-sessions.js';
import { Users } from './users.js';
import { WrongPasswords } from './wrong-passwords.js';

@Module({
  imports: [MailModule, TypeOrmModule.forFeature([UserEntity])],
  controllers: [IdentityController, DevLoginController, MeController],
  providers: [
    Authenticator,
    BrowserSessions,
    CurrentPassword,
    DevLoginGuard,
    EmailChange,
    EmailLinks,
    EmailVerification,
    GuessLimit,
    SignInPasswords,
    IdentityClient,
    IdentityPasswords,
    JwtVerifier,
    KeySet,
    KnownNetworks,
    MailLimit,
    MailLinks,
    PasswordChange,
    PasswordHasher,
    PasswordRecovery,
    PasswordReset,
    PatVerifier,
    provideLinkKey,
    provideIdentity,
    RecentSignIn,
    SigningKeys,
    Suspensions,
    Users,
    UserSessions,
    WrongPasswords,
  ],
  exports: [
    Authenticator,
    BrowserSessions,
    EmailChange,
    EmailVerification,
    GuessLimit,
    PasswordChange,
    PasswordHasher,
    PasswordRecovery,
    PasswordReset,
    RecentSignIn,
    SigningKeys,
    Suspensions,
    Users,
    UserSessions,
  ],
})
export class AuthModule {}
