import { randomBytes } from 'node:crypto';
import {
  makePasswordSlot,
  openPasswordSlot,
  type SealedSlot,
  type SlotPlace,
  type StoredSlot,
} from '../../src/automation/key-slot-crypto.js';
import { deriveMasterKey, verificationHash } from '../../src/automation/vault-crypto.js';
import { type Answer, bodyOf, type Call } from '../sync-folder/http.js';

/** Sends a request as a user. @throws ApiError for every status except 2xx and the expected ones */
export interface Caller {
  call(call: Call, ...expected: number[]): Promise<Answer>;
}

/** A slot as the service returns it: not to be trusted. */
export interface KeySlot extends StoredSlot {
  readonly id: string;
  readonly kind: 'password' | 'recovery' | 'passkey';
  readonly label: string | null;
  /** Changes with every replacement. */
  readonly updatedAt: string;
}

export interface KeySlotList {
  /** Null until encryption is set up, like the other. */
  readonly encryptionSalt: string | null;
  readonly verificationSalt: string | null;
  /** Oldest first. */
  readonly slots: readonly KeySlot[];
}

/** The derivations from passwords, which take most of a second. */
export interface PasswordCrypto {
  makePasswordSlot(place: SlotPlace, masterKey: Uint8Array, password: string): Promise<SealedSlot>;
  openPasswordSlot(place: SlotPlace, slot: StoredSlot, password: string): Promise<Buffer>;
  /** Of a vault without slots. */
  deriveMasterKey(password: string, encryptionSalt: string): Promise<Buffer>;
}

const PUBLISHED: PasswordCrypto = {
  makePasswordSlot: (place, masterKey, password) => makePasswordSlot(place, masterKey, password),
  openPasswordSlot,
  deriveMasterKey,
};

/** The key slots of one workspace. Every method can be repeated after a lost answer. */
export class KeySlots {
  readonly workspaceId: string;

  constructor(
    private readonly service: Caller,
    workspaceId: string,
    readonly crypto: PasswordCrypto = PUBLISHED,
  ) {
    this.workspaceId = workspaceId.toLowerCase(); // as it is written into the slots
  }

  async list(): Promise<KeySlotList> {
    const answer = await this.service.call({ method: 'GET', path: this.path('key-slots') });
    return bodyOf(answer) as KeySlotList;
  }

  /** Sets up the encryption with a master key that owes nothing to a password. Works once. @returns the proof */
  async setUp(masterKey: Buffer): Promise<string> {
    const encryptionSalt = randomBytes(32).toString('hex'); // every vault has one; this one is not used
    const verificationSalt = randomBytes(32).toString('hex');
    const proof = verificationHash(masterKey, verificationSalt);
    const json = { encryptionSalt, verificationSalt, verificationHash: proof };
    // 409: a repeat after a lost answer. Had somebody else set it up, the first slot would be refused.
    await this.service.call({ method: 'POST', path: this.path('setup-encryption'), json }, 409);
    return proof;
  }

  /** Whether this is the master key of the vault. */
  async isMasterKey(proof: string): Promise<boolean> {
    const call = { method: 'POST', path: this.path('verify-password') } as const;
    const answer = await this.service.call({ ...call, json: { verificationHash: proof } });
    return (bodyOf(answer) as { valid: boolean }).valid;
  }

  /** Creates or replaces a slot. */
  async put(slotId: string, slot: SealedSlot, proof: string, label?: string): Promise<void> {
    const json = { ...slot, label, verificationHash: proof };
    await this.service.call({ method: 'PUT', path: this.path(`key-slots/${slotId}`), json });
  }

  /**
   * Deletes a slot if it is still the one that was listed. @returns false when another device has replaced it since;
   * it is left as it is then
   */
  async delete({ id, updatedAt }: KeySlot, proof: string): Promise<boolean> {
    const headers = { 'if-match': `"${updatedAt}"` };
    const call = { method: 'DELETE', path: this.path(`key-slots/${id}`), headers } as const;
    // 404: a repeat after a lost answer, or another device was faster
    const answer = await this.service.call({ ...call, json: { verificationHash: proof } }, 404, 412);
    return answer.status !== 412;
  }

  place(slotId: string): SlotPlace {
    return { workspaceId: this.workspaceId, slotId };
  }

  private path(rest: string): string {
    return `/api/v1/workspaces/${this.workspaceId}/${rest}`;
  }
}
