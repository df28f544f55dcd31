import { Inject, Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Repository } from 'typeorm';
import { OperatorError } from '../../platform/config/index.js';
import { Database, isTransient, underStartLock } from '../../platform/database/index.js';
import type { Identity } from './identity.js';
import { IDENTITY } from './identity.provider.js';
import { SigningKey } from './signing-key.entity.js';

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
