import { Session } from '../../client/src/core/api/index.js';
import {
  deriveMasterKey,
  newPasswordKdf,
  type PasswordKdf,
  verificationHash,
} from '../../client/src/core/crypto/index.js';
import type { HttpOptions } from '../../client/src/core/http/index.js';
import { Vault, WrongSecret } from '../../client/src/core/vault/index.js';
import { FaultProxy } from './fault-proxy.js';
import { startService, type TestService, type TestUser } from './index.js';
import { useInTests } from './use-in-tests.js';

export const PASSWORD = 'the password of the vault';
export const NEW_PASSWORD = 'another password of the vault';

/** The cheapest parameters that every reader accepts. */
export const cheap = (): PasswordKdf => ({
  ...{ name: 'argon2id', salt: newPasswordKdf().salt },
  ...{ memoryKiB: 19_456, passes: 2, lanes: 1 },
});

export const kinds = async (vault: Vault): Promise<string[]> => (await vault.slots()).map(({ kind }) => kind);

/** Call outside of all tests. A service behind a proxy, and a session of one user. */
export function useClientVaults(): ClientVaults {
  return useInTests(new ClientVaults());
}

export class ClientVaults {
  service!: TestService;
  proxy!: FaultProxy;
  user!: TestUser;
  session!: Session;

  readonly open = async () => {
    this.service = await startService();
    this.proxy = await FaultProxy.before(this.service.url);
    this.user = await this.service.user('ada');
    this.session = Session.withAccessToken(this.service.url, this.user.token);
  };

  readonly close = async () => {
    await this.proxy.close();
    await this.service.close();
  };

  readonly beginTest = () => {
    this.proxy.heal();
    this.proxy.requests.length = 0;
  };

  /** A session whose requests are sent once. */
  readonly once = (options: HttpOptions = {}): Session =>
    Session.withAccessToken(this.proxy.url, this.user.token, { retries: { attempts: 1 }, ...options });

  readonly opens = (id: string, password: string): Promise<boolean> =>
    Vault.unlock(this.session, id, { password }, { hasSlots: true }).then(
      () => true,
      (error: unknown) => {
        if (error instanceof WrongSecret) return false;
        throw error;
      },
    );

  /** A vault as before key slots. @returns the id of its workspace, its key and the proof of it */
  async vaultOfBefore(password: string): Promise<{ id: string; masterKey: Uint8Array; proof: string }> {
    const { id, path } = await this.user.workspace();
    const [encryptionSalt, verificationSalt] = ['ab'.repeat(32), 'cd'.repeat(32)];
    const masterKey = await deriveMasterKey(password, encryptionSalt);
    const proof = await verificationHash(masterKey, verificationSalt);
    const body = { encryptionSalt, verificationSalt, verificationHash: proof };
    await this.user.post(`${path}/setup-encryption`).send(body).expect(200);
    return { id, masterKey, proof };
  }
}
