import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import type { BetterAuthPlugin } from 'better-auth';
import {
  APIError,
  createAuthEndpoint,
  createAuthMiddleware,
  sensitiveSessionMiddleware,
} from 'better-auth/api';
import { setSessionCookie } from 'better-auth/cookies';
import { randomBytes } from 'node:crypto';
import { Repository } from 'typeorm';
import { Database, type Parameter } from '../../platform/database/index.js';
import { fit, isMailable } from './account-fields.js';
import { AuthAccount, AuthSession, credentialOf, passwordHashOf } from './auth.entities.js';
import { sessionStatements } from './auth.queries.js';
import { faultOfPassword, PASSWORD_FAULTS } from './current-password.js';
import type { EmailVerification } from './email-verification.js';
import { clientOf, type IdentityRequest, identityRequests } from './identity-request.js';
import { PasswordHasher } from './password-hasher.js';
import {
  type ChangeFault,
  PasswordChange,
  type PasswordRecovery,
  type RecoveryFault,
} from './password-recovery.js';
import { KnownNetworks, WrongPasswords } from './wrong-passwords.js';

interface Session {
  readonly id: string;
  readonly userId: string;
  readonly userAgent?: string | null | undefined;
}

const WRONG = { code: 'INVALID_EMAIL_OR_PASSWORD', message: 'Invalid email or password' };

/**
 * The passwords that an identity handler request creates or checks. Changing or resetting a password ends the existing sessions,
 * but a concurrent request may create a session with the old password just after that. This class ends such a session: once the
 * session exists, its password must still be the user's.
 */
@Injectable()
export class SignInPasswords {
  constructor(
    @InjectRepository(AuthAccount) private readonly accounts: Repository<AuthAccount>,
    @InjectRepository(AuthSession) private readonly sessions: Repository<AuthSession>,
    private readonly database: Database,
    private readonly hasher: PasswordHasher,
    private readonly networks: KnownNetworks,
  ) {}

  /** Called for a new account, or instead of a password check when the account does not exist. @throws ServiceUnavailable */
  readonly hash = async (password: string): Promise<string> => {
    const request = current();
    if (request.prepared?.password === password) return request.prepared.hash;
    if (!request.isSignIn) throw new Error('the hash of a new password must be made before the transaction');
    request.isWrong = true;
    await this.hasher.refuse(password, request.ip);
    return ''; // the library does not use it
  };

  /** @throws ServiceUnavailable */
  readonly verify = async ({ hash, password }: { hash: string; password: string }): Promise<boolean> => {
    const request = current();
    const { isRight, renewed } = await this.hasher.verify(password, hash, request.ip);
    request.isWrong = !isRight;
    if (isRight) request.proof = { password, hash, renewed };
    if (isRight) request.hashes.add(hash);
    return isRight;
  };

  /**
   * Call this after the session is committed. Notes the network that it began from, and replaces an outdated hash of its
   * password. Returns false when the second factor is still to come: the library then ends this session at once.
   * @throws APIError, the one for a wrong password, after ending the session; also when it has already been ended
   */
  readonly check = async (session: Session): Promise<boolean> => {
    const request = identityRequests.getStore();
    if (!request?.hashes.size) {
      // The session did not begin with a password. With a factor it is a sign-in; otherwise it continues another session.
      if (request?.hasFactor) await this.noteNetwork(session, request);
      return true;
    }
    const proven = await this.proven(session, request);
    if (!proven) {
      await this.sessions.delete({ id: session.id });
      request.isWrong = true;
      throw new APIError('UNAUTHORIZED', WRONG);
    }
    await this.renew(session, request);
    if (request.isSignIn && proven.needsFactor) return false;
    await this.noteNetwork(session, request);
    return true;
  };

  private noteNetwork({ userId, userAgent }: Session, { ip }: IdentityRequest): Promise<void> {
    return this.networks.note(userId, ip, userAgent ?? undefined);
  }

  /** A concurrent sign-in may have replaced the outdated hash; then the password is checked against the new one. */
  private async proven(
    { id, userId }: Session,
    { hashes, proof, ip }: IdentityRequest,
  ): Promise<{ needsFactor: boolean } | undefined> {
    const among = async (): Promise<{ needsFactor: boolean } | undefined> => {
      const values: Parameter[] = [id, [...hashes]];
      return (await this.database.run<{ needsFactor: boolean }>(sessionStatements.proven, values))[0];
    };
    const found = await among();
    if (found) return found;
    if (proof?.renewed === undefined) return undefined;
    const hash = await passwordHashOf(this.accounts, userId);
    if (hash === undefined || !(await this.hasher.verify(proof.password, hash, ip)).isRight) return undefined;
    hashes.add(hash);
    return among();
  }

  /** Changes nothing when the password or its hash has been replaced meanwhile. */
  private async renew({ userId }: Session, { proof, hashes }: IdentityRequest): Promise<void> {
    if (proof?.renewed === undefined) return;
    const { hash, renewed } = proof;
    await this.accounts.update({ ...credentialOf(userId), password: hash }, { password: renewed });
    hashes.add(renewed);
  }
}

function current(): IdentityRequest {
  const request = identityRequests.getStore();
  if (!request) throw new Error('passwords can only be handled in a request of the identity handler');
  return request;
}

/** The password services that the identity handler uses. */
@Injectable()
export class IdentityPasswords {
  constructor(
    readonly signIn: SignInPasswords,
    readonly hasher: PasswordHasher,
    readonly passwordChange: PasswordChange,
    readonly wrongPasswords: WrongPasswords,
  ) {}
}

const CHANGE_FAULTS: Readonly<Record<ChangeFault, string>> = {
  ...PASSWORD_FAULTS,
  CREDENTIAL_ACCOUNT_NOT_FOUND: 'Credential account not found',
  INVALID_PASSWORD: 'Invalid password',
};

const CHANGE_BODY =
  'currentPassword and newPassword must be strings, revokeOtherSessions and revokeAccessTokens booleans';

/**
 * The time from the hash of a sign-up to its answer, where the address must be confirmed: longer than storing an account takes,
 * so the time does not disclose whether the address has one.
 */
const SIGN_UP_MS = 150;

type Fields = Readonly<Record<string, unknown>> | undefined;

/**
 * The service's own password handling in place of the identity handler's: policy, limits, hashing outside transactions, and a
 * password change that ends all other sessions whatever the request says.
 */
// oxlint-disable-next-line typescript/explicit-module-boundary-types -- the library infers its API from it
export function passwordPlugin({ hasher, passwordChange, wrongPasswords }: IdentityPasswords) {
  return {
    id: 'service-passwords',
    endpoints: { changePassword: changeEndpoint(passwordChange) },
    hooks: {
      before: [
        {
          matcher: ({ path }) => path === '/sign-in/email',
          handler: createAuthMiddleware(async ({ body }) => {
            const { email } = (body as Fields) ?? {};
            const request = identityRequests.getStore();
            if (!request || typeof email !== 'string') return; // the library rejects an email that is not a string
            request.takeBack = await wrongPasswords.countSignIn(email, request.ip);
          }),
        },
        {
          matcher: ({ path }) => path === '/sign-up/email',
          handler: createAuthMiddleware(async ({ body, context }) => {
            const { password } = (body as Fields) ?? {};
            const request = identityRequests.getStore();
            const isOff = context.options.emailAndPassword?.disableSignUp;
            if (!request || isOff || typeof password !== 'string' || !password) return;
            const mustVerify = context.options.emailAndPassword?.requireEmailVerification === true;
            // Before the address is looked up: the answer must not disclose whether it has an account.
            if (mustVerify)
              await fit({ name: (body as Fields)?.['name'], image: (body as Fields)?.['image'] });
            const fault = await faultOfPassword(password);
            if (fault) throw new APIError('BAD_REQUEST', { code: fault, message: PASSWORD_FAULTS[fault] });
            const hash = await hasher.hash(password, request.ip);
            request.hashes.add(hash);
            request.prepared = { password, hash };
            if (mustVerify) request.answerAt = performance.now() + SIGN_UP_MS;
          }),
        },
      ],
    },
  } satisfies BetterAuthPlugin;
}

function changeEndpoint(passwordChange: PasswordChange) {
  return createAuthEndpoint(
    '/change-password',
    { method: 'POST', use: [sensitiveSessionMiddleware] },
    async (ctx) => {
      const { session, user } = ctx.context.session;
      const { currentPassword, newPassword, ...wishes } = (ctx.body as Fields) ?? {};
      const { revokeOtherSessions = false, revokeAccessTokens = false } = wishes;
      const areTexts = typeof currentPassword === 'string' && typeof newPassword === 'string';
      if (!areTexts || typeof revokeOtherSessions !== 'boolean' || typeof revokeAccessTokens !== 'boolean')
        throw new APIError('BAD_REQUEST', { code: 'VALIDATION_ERROR', message: CHANGE_BODY });
      const token = revokeOtherSessions ? randomBytes(24).toString('base64url') : null;
      const fault = await passwordChange.run({
        user,
        sessionId: session.id,
        currentPassword,
        newPassword,
        ...clientOf(ctx.headers),
        newSessionToken: token,
        revokesAccessTokens: revokeAccessTokens,
      });
      if (fault) throw new APIError('BAD_REQUEST', { code: fault, message: CHANGE_FAULTS[fault] });
      if (token) await setSessionCookie(ctx, { session: { ...session, token }, user });
      return ctx.json({ token, user });
    },
  );
}

const FAULTS: Readonly<Record<RecoveryFault, string>> = {
  ...PASSWORD_FAULTS,
  INVALID_TOKEN: 'The link is used, expired, or replaced by a newer one.',
};

/** The answer for every address. */
const REQUESTED = {
  status: true,
  message: 'If there is an account with this address, a mail with a link is on its way.',
};

interface RecoveryParts {
  readonly recovery: PasswordRecovery;
  readonly verification: EmailVerification;
}

const invalid = (message: string): APIError =>
  new APIError('BAD_REQUEST', { code: 'VALIDATION_ERROR', message });

function emailIn(body: Fields): string {
  const { email } = body ?? {};
  if (typeof email !== 'string' || !isMailable(email)) throw invalid('email must be an email address');
  return email;
}

/** Forgotten passwords and confirmation of addresses over the API: the service's own links in place of the identity handler's. */
// oxlint-disable-next-line typescript/explicit-module-boundary-types -- the library infers its API from it
export function recoveryPlugin({ recovery, verification }: RecoveryParts) {
  return {
    id: 'service-recovery',
    endpoints: {
      requestPasswordReset: createAuthEndpoint('/request-password-reset', { method: 'POST' }, async (ctx) => {
        await recovery.request(emailIn(ctx.body as Fields), clientOf(ctx.headers).ip);
        return ctx.json(REQUESTED);
      }),
      sendVerificationEmail: createAuthEndpoint(
        '/send-verification-email',
        { method: 'POST' },
        async (ctx) => {
          await verification.request(emailIn(ctx.body as Fields), clientOf(ctx.headers).ip);
          return ctx.json({ status: true });
        },
      ),
      resetPassword: createAuthEndpoint('/reset-password', { method: 'POST' }, async (ctx) => {
        const { token, newPassword, revokeAccessTokens = false } = (ctx.body as Fields) ?? {};
        const areTexts = typeof token === 'string' && typeof newPassword === 'string';
        if (!areTexts || typeof revokeAccessTokens !== 'boolean')
          throw invalid('token and newPassword must be text, revokeAccessTokens true or false');
        const fault = await recovery.complete({
          purpose: 'reset-password',
          token,
          newPassword,
          revokesAccessTokens: revokeAccessTokens,
          ...clientOf(ctx.headers),
        });
        if (fault) throw new APIError('BAD_REQUEST', { code: fault, message: FAULTS[fault] });
        return ctx.json({ status: true });
      }),
    },
  } satisfies BetterAuthPlugin;
}
