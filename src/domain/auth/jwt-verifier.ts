import { Inject, Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { isUUID } from 'class-validator';
import { createHash } from 'node:crypto';
import {
  createLocalJWKSet,
  errors,
  type JWK,
  type JWSHeaderParameters,
  jwtVerify,
  type LocalJWKSet,
} from 'jose';
import { Repository } from 'typeorm';
import { Clock } from '../../platform/clock.js';
import { Configuration, OperatorError } from '../../platform/config/index.js';
import { Database, isTransient, underStartLock } from '../../platform/database/index.js';
import { Unauthorized } from '../../platform/http/index.js';
import { SigningKey } from './auth.entities.js';
import { EndedSessions, SessionEnded } from './ended-sessions.js';
import type { Identity } from './identity.js';
import { IDENTITY } from './identity.provider.js';

/** A removed key may still be accepted for this long. */
const FRESH_MS = 5_000;

/** A forged token with an invented kid must not cost a query: unknown kids reload the keys at most this often. */
const UNKNOWN_KID_MS = 1_000;

/** The public keys of the service's own JWTs, cached in memory for seconds. */
@Injectable()
export class KeySet {
  /** Incremented whenever the keys have changed; results verified with an earlier edition may no longer be valid. */
  edition = 0;

  private keys: LocalJWKSet | undefined;
  private ids = new Set<string>();
  private text = '';
  private loadedAt = -Infinity;
  private loading: Promise<void> | undefined;

  constructor(
    @InjectRepository(SigningKey) private readonly stored: Repository<SigningKey>,
    private readonly clock: Clock,
  ) {}

  /** Reloads the keys unless they are fresh. Await this before treating anything as verified. @returns the ids of the keys */
  async refresh(): Promise<ReadonlySet<string>> {
    if (!this.isYoungerThan(FRESH_MS)) await this.reload();
    return this.ids;
  }

  /** The key named in a token's header. @throws JWKSNoMatchingKey when there is none */
  async find(header: JWSHeaderParameters | undefined): ReturnType<LocalJWKSet> {
    if (!header?.kid) throw new errors.JWKSNoMatchingKey();
    try {
      return await this.lookUp(header);
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey) || this.isYoungerThan(UNKNOWN_KID_MS)) throw error;
      await this.reload(); // another instance may have created a key since
      return this.lookUp(header);
    }
  }

  private lookUp(header: JWSHeaderParameters): ReturnType<LocalJWKSet> {
    if (!this.keys) throw new errors.JWKSNoMatchingKey();
    return this.keys(header);
  }

  private isYoungerThan(ms: number): boolean {
    return this.clock.elapsed() - this.loadedAt < ms; // with the wall clock, setting it back would keep the keys for hours
  }

  private reload(): Promise<void> {
    this.loading ??= this.load().finally(() => (this.loading = undefined));
    return this.loading;
  }

  private async load(): Promise<void> {
    const rows = await this.stored.find({
      select: { id: true, publicKey: true },
      where: { alg: 'RS256' },
      order: { id: 'ASC' },
    });
    this.loadedAt = this.clock.elapsed();
    const text = JSON.stringify(rows);
    if (text === this.text) return;
    const keys = rows.map(({ id, publicKey }) => ({
      ...(JSON.parse(publicKey) as JWK),
      kid: id,
      alg: 'RS256',
    }));
    this.keys = createLocalJWKSet({ keys });
    this.ids = new Set(rows.map(({ id }) => id));
    this.text = text;
    this.edition++;
  }
}

/** The number of verified tokens in the cache; beyond it, the oldest are evicted and must be verified again. */
const MOST_REMEMBERED = 10_000;

interface Verified {
  readonly userId: string;
  readonly keyId: string;
  /** The session that the token came from. */
  readonly sessionId: string;
  readonly expiresAt: Date;
  /** When the user last gave a password or another factor; null if the session has no such time. */
  readonly authenticatedAt: Date | null;
}

/** Verifies service JWTs: only RS256, only our own issuer and audience (iss, aud), never without an expiry (exp). */
@Injectable()
export class JwtVerifier {
  /** By SHA-256 of the token. A result depends on the keys alone; everything else that may change is checked on each use. */
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

/** The keys that sign the service's JWTs; their private halves are encrypted with AUTH_SECRET. */
@Injectable()
export class SigningKeys {
  constructor(
    @Inject(IDENTITY) private readonly identity: Identity,
    @InjectRepository(SigningKey) private readonly keys: Repository<SigningKey>,
    private readonly database: Database,
  ) {}

  /** @throws OperatorError when AUTH_SECRET differs from the one that encrypted the key: no token could be issued */
  async check(): Promise<void> {
    try {
      await this.identity.api.signJWT({ body: { payload: { sub: 'nobody' } } });
    } catch (cause) {
      if (isTransient(cause)) throw cause;
      throw new OperatorError(
        'AUTH_SECRET is not the one that the signing keys are encrypted with; set that one again (in development it is ' +
          'kept in DATA_DIR/secrets/auth-secret), or run `npm run admin -- signing-keys renew` once.',
        { cause },
      );
    }
  }

  /** The number of keys that `renew` removes. */
  count(): Promise<number> {
    return this.keys.count();
  }

  /** Creates a new key under the current secret. Within five seconds every instance refuses all existing JWTs; sessions stay. */
  async renew(): Promise<void> {
    await underStartLock(this.database.dataSource, async () => {
      await this.keys.deleteAll();
      await this.identity.api.getJwks();
    });
  }
}
