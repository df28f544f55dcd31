import { Injectable } from '@nestjs/common';
import { jwtVerify, errors } from 'jose';
import { createHash } from 'node:crypto';
import { isUUID } from 'class-validator';
import { Configuration } from '../../platform/config/index.js';
import { Clock } from '../../platform/clock/index.js';
import { Unauthorized } from '../../platform/http/index.js';
import { EndedSessions, SessionEnded } from './ended-sessions.js';
import { KeySet } from './key-set.js';

/** The number of verified tokens in the cache; beyond it, the oldest are evicted and must be verified again. */
const MOST_REMEMBERED = 10_000;

interface Verified {
  readonly userId: string;
  readonly keyId: string;
  /** The session that the token came from. */
  readonly sessionId: string;
  readonly expiresAt: Date;
  /** When the user last gave a password or another factor; null when the session does not know. */
  readonly authenticatedAt: Date | null;
}

/** Verifies service JWTs: only RS256, only our own issuer and audience (iss, aud), never without an expiry (exp). */
@Injectable()
export class JwtVerifier {
  /**
   * By SHA-256. The result of a verification changes only with the keys; whatever else may change is checked elsewhere, each
   * time.
   */
  private readonly verified = new Map<string, Verified & { readonly edition: number }>();

  constructor(
    private readonly configuration: Configuration,
    private readonly keySet: KeySet,
    private readonly endedSessions: EndedSessions,
    private readonly clock: Clock,
  ) {}

  /**
   * The token's user, session, key and expiry.
   * @throws Unauthorized unless the token is valid in every respect, SessionEnded once this instance knows that its session has
   *   ended
   */
  async verify(token: string): Promise<Verified> {
    const verified = await this.verifySignature(token);
    if (this.endedSessions.has(verified.sessionId)) throw new SessionEnded();
    return verified;
  }

  private async verifySignature(token: string): Promise<Verified> {
    await this.keySet.refresh();
    const hash = createHash('sha256').update(token).digest('base64');
    const known = this.recall(hash);
    if (known) return known;
    const { edition } = this.keySet;
    const verified = await this.check(token);
    this.verified.set(hash, { ...verified, edition });
    const [oldest] = this.verified.keys();
    if (this.verified.size > MOST_REMEMBERED && oldest !== undefined) this.verified.delete(oldest);
    return verified;
  }

  private recall(hash: string): Verified | undefined {
    const known = this.verified.get(hash);
    const isOfTheseKeys = known?.edition === this.keySet.edition;
    return isOfTheseKeys && known.expiresAt > this.clock.now() ? known : undefined;
  }

  private async check(token: string): Promise<Verified> {
    try {
      const { payload, protectedHeader } = await jwtVerify(token, (header) => this.keySet.find(header), {
        algorithms: ['RS256'],
        issuer: this.configuration.publicUrl,
        audience: this.configuration.publicUrl,
        requiredClaims: ['exp', 'sub', 'sid'], // without this, a token without exp would never expire
        currentDate: this.clock.now(),
      });
      const { sub: userId, sid: sessionId, auth_time: time } = payload;
      if (!isUUID(userId) || !isUUID(sessionId)) throw new Unauthorized();
      const expiresAt = new Date((payload.exp ?? 0) * 1000);
      const authenticatedAt = typeof time === 'number' ? new Date(time * 1000) : null;
      const keyId = protectedHeader.kid ?? '';
      return { userId: userId as string, sessionId: sessionId as string, keyId, expiresAt, authenticatedAt };
    } catch (error) {
      if (error instanceof errors.JOSEError || error instanceof TypeError) throw new Unauthorized();
      throw error;
    }
  }
}
