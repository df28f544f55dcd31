import { Injectable } from '@nestjs/common';
import { Clock } from '../platform/clock/index.js';
import { Database, statement } from '../platform/database/index.js';
import { Unauthorized } from '../platform/http/index.js';
import { JwtVerifier } from './jwt-verifier.js';
import { KeySet } from './key-set.js';
import { PatVerifier } from './pat-verifier.js';
import type { Principal } from './principal.js';

const usersAmong = statement('auth.users_among', 'SELECT id FROM users WHERE id = ANY ($1)');

const activePatsAmong = statement(
  'auth.active_pats_among',
  `SELECT id FROM access_tokens
   WHERE id = ANY ($1) AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $2)`,
);

/**
 * A token that was verified less than this ago is not asked about again; so a revocation takes effect within five
 * seconds.
 */
const GOOD_FOR_MS = 3_000;

/** Proves whom a bearer token stands for. */
@Injectable()
export class Authenticator {
  constructor(
    private readonly jwtVerifier: JwtVerifier,
    private readonly patVerifier: PatVerifier,
    private readonly keySet: KeySet,
    private readonly database: Database,
    private readonly clock: Clock,
  ) {}

  /**
   * A JWT stands for an interactive session, so it may do everything its user may.
   * @throws Unauthorized for every token that is not wholly in order
   */
  async verify(token: string): Promise<Principal> {
    if (token.startsWith('pat_')) return this.patVerifier.verify(token);
    const { userId, keyId, expiresAt } = await this.jwtVerifier.verify(token);
    return { userId, scopes: ['full'], tokenId: null, keyId, workspaceId: null, expiresAt };
  }

  /** The same where no guard looks for the user. @throws Unauthorized also when the user is gone */
  async authenticate(token: string): Promise<Principal> {
    const principal = await this.verify(token);
    if ((await this.idsAmong(usersAmong, [principal.userId])).size === 0) throw new Unauthorized();
    return principal;
  }

  isExpired({ expiresAt }: Principal): boolean {
    return expiresAt !== null && expiresAt <= this.clock.now();
  }

  /**
   * What asks again, when time may have passed, about a token that is good now. It throws Unauthorized when it has been
   * taken away since. A JWT that has run out is good for the request that it began, or long uploads would fail in the end.
   */
  recheck(principal: Principal): () => Promise<void> {
    const goodAt = this.clock.elapsed();
    return async () => {
      const mustCheckAgain =
        this.clock.elapsed() - goodAt >= GOOD_FOR_MS || !(await this.isKeyKnown(principal));
      if (mustCheckAgain && (await this.lapsed([principal])).length > 0) throw new Unauthorized();
    };
  }

  /** Those of the principals whose token is good no longer though it has not expired: revoked, signed with a key that was taken away, or its user gone. */
  async lapsed(principals: readonly Principal[]): Promise<Principal[]> {
    const now = this.clock.now();
    const pats = principals.flatMap(({ tokenId }) => (tokenId === null ? [] : [tokenId]));
    const keys = await this.keySet.refresh();
    const active = await this.idsAmong(activePatsAmong, pats, now);
    const users = await this.idsAmong(
      usersAmong,
      principals.map(({ userId }) => userId),
    );
    return principals.filter(
      ({ userId, tokenId, keyId }) =>
        !users.has(userId) ||
        (keyId !== undefined && !keys.has(keyId)) ||
        (tokenId !== null && !active.has(tokenId)),
    );
  }

  /** Costs no query in most cases. A key may have been some seconds old in memory when the token was verified with it. */
  private async isKeyKnown({ keyId }: Principal): Promise<boolean> {
    return keyId === undefined || (await this.keySet.refresh()).has(keyId);
  }

  private async idsAmong(
    query: typeof usersAmong,
    ids: readonly string[],
    ...more: Date[]
  ): Promise<Set<string>> {
    if (ids.length === 0) return new Set();
    const rows = await this.database.run<{ id: string }>(query, [[...new Set(ids)], ...more]);
    return new Set(rows.map(({ id }) => id));
  }
}
