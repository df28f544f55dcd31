import { Injectable } from '@nestjs/common';
import { createLocalJWKSet, errors, type JWK, type JWSHeaderParameters, type LocalJWKSet } from 'jose';
import { Clock } from '../platform/clock/index.js';
import { Database, statement } from '../platform/database/index.js';

/** A forged token with a made-up kid must not buy a query, so the key set is read again at most so often. */
const RELOAD_AFTER_MS = 10_000;

const publicKeys = statement(
  'auth.public_keys',
  'SELECT id, public_key AS "publicKey" FROM auth_jwks WHERE alg = $1',
);

/** The public keys of the service's own JWTs, in memory. */
@Injectable()
export class KeySet {
  private keys: LocalJWKSet | undefined;
  private loadedAt = -Infinity;
  private loading: Promise<void> | undefined;

  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
  ) {}

  /** The key that a token's header names. @throws JWKSNoMatchingKey when there is none */
  async find(header: JWSHeaderParameters | undefined): ReturnType<LocalJWKSet> {
    if (!header?.kid) throw new errors.JWKSNoMatchingKey();
    if (!this.keys) await this.reload();
    try {
      return await this.lookUp(header);
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey) || !this.mayReload()) throw error;
      await this.reload(); // another instance may have made a key since
      return this.lookUp(header);
    }
  }

  private lookUp(header: JWSHeaderParameters): ReturnType<LocalJWKSet> {
    if (!this.keys) throw new errors.JWKSNoMatchingKey();
    return this.keys(header);
  }

  private mayReload(): boolean {
    return this.clock.now().getTime() - this.loadedAt >= RELOAD_AFTER_MS;
  }

  private reload(): Promise<void> {
    this.loading ??= this.load().finally(() => (this.loading = undefined));
    return this.loading;
  }

  private async load(): Promise<void> {
    const rows = await this.database.run<{ id: string; publicKey: string }>(publicKeys, ['RS256']);
    const keys = rows.map(({ id, publicKey }) => ({
      ...(JSON.parse(publicKey) as JWK),
      kid: id,
      alg: 'RS256',
    }));
    this.keys = createLocalJWKSet({ keys });
    this.loadedAt = this.clock.now().getTime();
  }
}
