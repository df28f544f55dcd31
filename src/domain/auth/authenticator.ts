import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { type FindOptionsWhere, MoreThan, Repository } from 'typeorm';
import { AccountSuspended, BearerAuthenticator, type Principal } from '../../access/index.js';
import { Clock } from '../../platform/clock.js';
import { Database, type Tx } from '../../platform/database/index.js';
import { Unauthorized } from '../../platform/http/index.js';
import { AuthSession } from './auth.entities.js';
import { userStatements } from './auth.queries.js';
import { EndedSessions, SessionEnded } from './ended-sessions.js';
import { JwtVerifier, KeySet } from './jwt-verifier.js';
import { PatVerifier } from './pat-verifier.js';

/** A token that was verified less than this long ago is not checked again, so a revocation takes effect within five seconds. */
const GOOD_FOR_MS = 3_000;

/** An unexpired token that is no longer valid, and the error for its bearer. */
export interface Lapsed {
  readonly principal: Principal;
  readonly refusal: Unauthorized | AccountSuspended;
}

/** Authenticates bearer tokens. */
@Injectable()
export class Authenticator extends BearerAuthenticator {
  constructor(
    private readonly jwtVerifier: JwtVerifier,
    private readonly patVerifier: PatVerifier,
    private readonly keySet: KeySet,
    private readonly endedSessions: EndedSessions,
    @InjectRepository(AuthSession) private readonly sessions: Repository<AuthSession>,
    private readonly database: Database,
    private readonly clock: Clock,
  ) {
    super();
  }

  /**
   * A JWT represents an interactive session, so it has all the rights of its user.
   * @throws Unauthorized unless the token is valid in every respect
   */
  async verify(token: string): Promise<Principal> {
    if (token.startsWith('pat_')) return this.patVerifier.verify(token);
    const verified = await this.jwtVerifier.verify(token);
    return { ...verified, scopes: ['full'], tokenId: null, workspaceId: null };
  }

  /**
   * Like `verify`, for callers without a guard that loads the user. @throws Unauthorized also when the user is gone,
   * AccountSuspended
   */
  async authenticate(token: string): Promise<Principal> {
    const principal = await this.verify(token);
    const refusal = refusalOf(await this.usersOf([principal]), principal);
    if (refusal) throw refusal;
    return principal;
  }

  /**
   * For changes that outlive a session: reads a JWT's session from the database, as this instance may not know its end yet.
   * @param tx the transaction of the change: the session lives until it commits
   * @throws SessionEnded
   */
  async requireSession(
    { sessionId, userId }: Pick<Principal, 'sessionId' | 'userId'>,
    tx?: Tx,
  ): Promise<void> {
    if (sessionId === undefined) return;
    const now = this.clock.now();
    const live = { id: sessionId, userId, expiresAt: MoreThan(now) };
    const isLive = tx ? await keep(tx, live) : await this.sessions.existsBy(live);
    if (!isLive) throw new SessionEnded();
  }

  isExpired({ expiresAt }: Principal): boolean {
    return expiresAt !== null && expiresAt <= this.clock.now();
  }

  /** @throws SessionEnded if this instance knows that the session has ended; runs no statement */
  refuseEnded(principal: Principal): void {
    if (this.hasEnded(principal)) throw new SessionEnded();
  }

  /**
   * Returns a function that rechecks a token that is valid now. It throws Unauthorized if the token has been revoked since,
   * and AccountSuspended if its user is suspended. A JWT that expires stays valid for the request that it started; otherwise long
   * uploads would fail at the end.
   */
  recheck(principal: Principal): () => Promise<void> {
    const goodAt = this.clock.elapsed();
    return async () => {
      const mustCheckAgain =
        this.clock.elapsed() - goodAt >= GOOD_FOR_MS ||
        this.hasEnded(principal) ||
        !(await this.isKeyKnown(principal));
      const [lapsed] = mustCheckAgain ? await this.lapsed([principal]) : [];
      if (lapsed) throw lapsed.refusal;
    };
  }

  /** The principals whose token was revoked, came from an ended session or a removed key, or whose user is gone or suspended. */
  async lapsed(principals: readonly Principal[]): Promise<Lapsed[]> {
    const pats = principals.flatMap(({ tokenId }) => (tokenId === null ? [] : [tokenId]));
    const keys = await this.keySet.refresh();
    const active = await this.patVerifier.activeAmong([...new Set(pats)]);
    const users = await this.usersOf(principals);
    return principals.flatMap((principal): Lapsed[] => {
      const { tokenId, keyId } = principal;
      const isTakenAway =
        (keyId !== undefined && !keys.has(keyId)) || (tokenId !== null && !active.has(tokenId));
      if (this.hasEnded(principal)) return [{ principal, refusal: new SessionEnded() }];
      const refusal = isTakenAway ? new Unauthorized() : refusalOf(users, principal);
      return refusal ? [{ principal, refusal }] : [];
    });
  }

  private hasEnded({ sessionId }: Principal): boolean {
    return sessionId !== undefined && this.endedSessions.has(sessionId);
  }

  /** Usually runs no query. The cached key set may have been some seconds old when the token was verified. */
  private async isKeyKnown({ keyId }: Principal): Promise<boolean> {
    return keyId === undefined || (await this.keySet.refresh()).has(keyId);
  }

  private async usersOf(principals: readonly Principal[]): Promise<Users> {
    const ids = [...new Set(principals.map(({ userId }) => userId))];
    if (ids.length === 0) return new Map();
    const rows = await this.database.run<{ id: string; isSuspended: boolean }>(userStatements.among, [ids]);
    return new Map(rows.map(({ id, isSuspended }) => [id, isSuspended]));
  }
}

/** Locks the session's row: deleting the session or changing its id waits for the transaction. @returns whether it is live */
async function keep(tx: Tx, live: FindOptionsWhere<AuthSession>): Promise<boolean> {
  const sessions = tx.manager.getRepository(AuthSession);
  const kept = { select: { id: true }, where: live, lock: { mode: 'for_key_share' } } as const;
  return (await sessions.findOne(kept)) !== null;
}

/** Whether each existing user, by id, is suspended. */
type Users = ReadonlyMap<string, boolean>;

function refusalOf(users: Users, { userId }: Principal): Lapsed['refusal'] | undefined {
  const isSuspended = users.get(userId);
  if (isSuspended === undefined) return new Unauthorized();
  return isSuspended ? new AccountSuspended() : undefined;
}
