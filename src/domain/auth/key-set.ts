import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { createLocalJWKSet, errors, type JWK, type JWSHeaderParameters, type LocalJWKSet } from 'jose';
import { Repository } from 'typeorm';
import { Clock } from '../../platform/clock/index.js';
import { SigningKey } from './signing-key.entity.js';

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
