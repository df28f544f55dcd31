import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { APIError } from 'better-auth/api';
import { Repository } from 'typeorm';
import { Database, type Parameter } from '../../platform/database/index.js';
import { AuthAccount, credentialOf, passwordHashOf } from './auth-account.entity.js';
import { AuthSession } from './auth-session.entity.js';
import { sessionStatements } from './auth.queries.js';
import { type IdentityRequest, identityRequests } from './identity-request.js';
import { KnownNetworks } from './known-networks.js';
import { PasswordChange } from './password-change.js';
import { PasswordHasher } from './password-hasher.js';
import { WrongPasswords } from './wrong-passwords.js';

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
   * @throws APIError, the one for a wrong password, after ending the session; also when somebody else has already ended it
   */
  readonly check = async (session: Session): Promise<boolean> => {
    const request = identityRequests.getStore();
    if (!request?.hashes.size) {
      // The session did not begin with a password; one that continues another is no sign-in.
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
