import { Inject, Injectable } from '@nestjs/common';
import { OperatorError } from '../config/index.js';
import { Database, isTransient, statement, underStartLock } from '../platform/database/index.js';
import type { Identity } from './identity.js';
import { IDENTITY } from './identity.provider.js';

const removeAll = statement('auth.remove_signing_keys', 'DELETE FROM auth_jwks');
const countAll = statement('auth.count_signing_keys', 'SELECT count(*) AS keys FROM auth_jwks');

/** The keys that sign the service's JWTs; their private halves are encrypted with AUTH_SECRET. */
@Injectable()
export class SigningKeys {
  constructor(
    @Inject(IDENTITY) private readonly identity: Identity,
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
  async count(): Promise<number> {
    const [row] = await this.database.run<{ keys: number }>(countAll, []);
    return row?.keys ?? 0;
  }

  /** Creates a new key under the current secret. Within five seconds every instance refuses all existing JWTs; sessions stay. */
  async renew(): Promise<void> {
    await underStartLock(this.database.dataSource, async () => {
      await this.database.run(removeAll, []);
      await this.identity.api.getJwks();
    });
  }
}
