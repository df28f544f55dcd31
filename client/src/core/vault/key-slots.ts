import { dataOf, type Session } from '../api/index.js';
import {
  type Bytes,
  deriveMasterKey,
  isUuid,
  type KeySlotKind,
  makePasswordSlot,
  newMasterKey,
  openPasswordSlot,
  type PasswordKdf,
  type SealedSlot,
  type SlotPlace,
  type StoredSlot,
  toHex,
  verificationHash,
} from '../crypto/index.js';
import { ApiError, InvalidAnswer } from '../http/index.js';

/** A slot as the service returns it: untrusted. */
export interface KeySlot extends StoredSlot {
  /** A UUID in lower case. */
  readonly id: string;
  /** Slots of unknown kinds are left alone. */
  readonly kind: KeySlotKind;
  readonly label: string | null;
  readonly createdAt: string;
  /** Changes with every replacement. */
  readonly updatedAt: string;
}

export interface KeySlotList {
  readonly encryptionSalt: string;
  readonly verificationSalt: string;
  /** Oldest first. */
  readonly slots: readonly KeySlot[];
}

/** The limit of the service. One that lists more slots wants to keep the client busy. */
const MOST_SLOTS = 16;
const MOST_PASSWORDS = 4;

/** Derivations from passwords, which take most of a second. */
export interface PasswordCrypto {
  makePasswordSlot(
    place: SlotPlace,
    masterKey: Uint8Array,
    password: string,
    kdf?: PasswordKdf,
  ): Promise<SealedSlot>;
  openPasswordSlot(place: SlotPlace, slot: StoredSlot, password: string): Promise<Bytes>;
  /** Derives the master key of a vault that has no slots. */
  deriveMasterKey(password: string, encryptionSalt: string): Promise<Bytes>;
}

const PUBLISHED: PasswordCrypto = { makePasswordSlot, openPasswordSlot, deriveMasterKey };

/** The key slots of one workspace. Every method can be repeated after a lost answer. */
export class KeySlots {
  readonly workspaceId: string;

  constructor(
    readonly session: Session,
    workspaceId: string,
    readonly crypto: PasswordCrypto = PUBLISHED,
  ) {
    this.workspaceId = workspaceId.toLowerCase(); // as in the slots' associated data
  }

  /** @throws Error when there is no vault yet; InvalidAnswer for a list that violates the contract */
  async list(): Promise<KeySlotList> {
    const params = { path: { id: this.workspaceId } };
    const list = await dataOf(this.session.api.GET('/api/v1/workspaces/{id}/key-slots', { params }));
    const { encryptionSalt, verificationSalt } = list;
    if (encryptionSalt === null || verificationSalt === null)
      throw new Error('the encryption of this workspace has not been set up');
    const slots = list.slots as unknown as readonly KeySlot[];
    const passwords = slots.filter(({ kind }) => kind === 'password');
    if (slots.length > MOST_SLOTS || passwords.length > MOST_PASSWORDS)
      throw new InvalidAnswer('the service lists more key slots than a vault can have');
    if (!slots.every(isSlot))
      throw new InvalidAnswer('the service lists a key slot in another form than agreed');
    return { encryptionSalt, verificationSalt, slots };
  }

  /** Sets up the encryption, once, with a master key that is independent of any password. @returns the proof */
  async setUp(masterKey: Uint8Array): Promise<string> {
    const [encryptionSalt, verificationSalt] = [toHex(newMasterKey()), toHex(newMasterKey())]; // encryptionSalt is not used
    const proof = await verificationHash(masterKey, verificationSalt);
    const body = { encryptionSalt, verificationSalt, verificationHash: proof };
    const params = { path: { id: this.workspaceId } };
    // 409: a repeat after a lost answer. If another client had set it up, the first slot would be refused.
    await unless(409, this.session.api.POST('/api/v1/workspaces/{id}/setup-encryption', { params, body }));
    return proof;
  }

  /** Whether the service accepts this proof of the master key. */
  async isMasterKey(proof: string): Promise<boolean> {
    const request = { params: { path: { id: this.workspaceId } }, body: { verificationHash: proof } };
    return (await dataOf(this.session.api.POST('/api/v1/workspaces/{id}/verify-password', request))).valid;
  }

  /** Creates or replaces a slot. */
  async put(slotId: string, slot: SealedSlot, proof: string, label?: string): Promise<void> {
    const params = { path: { id: this.workspaceId, slotId } };
    const body = { ...slot, ...(label !== undefined && { label }), verificationHash: proof };
    await this.session.api.PUT('/api/v1/workspaces/{id}/key-slots/{slotId}', { params, body });
  }

  /** Deletes a slot if it is still the one that was listed. @returns false when it has been replaced since */
  async delete({ id: slotId, updatedAt }: KeySlot, proof: string): Promise<boolean> {
    const params = { path: { id: this.workspaceId, slotId }, header: { 'If-Match': `"${updatedAt}"` } };
    const body = { verificationHash: proof };
    const deleting = this.session.api.DELETE('/api/v1/workspaces/{id}/key-slots/{slotId}', { params, body });
    // 404: a repeat after a lost answer, or another device was faster
    return (
      (await unless(
        404,
        deleting.then(() => 200),
        412,
      )) !== 412
    );
  }

  place(slotId: string): SlotPlace {
    return { workspaceId: this.workspaceId, slotId };
  }
}

/** The answer, or the status of an expected refusal. */
async function unless<T>(status: number, answer: Promise<T>, ...others: number[]): Promise<T | number> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof ApiError && [status, ...others].includes(error.status)) return error.status;
    throw error;
  }
}

/** The id and the time are sent in requests. */
function isSlot({ id, updatedAt }: KeySlot): boolean {
  return (
    typeof (id as unknown) === 'string' &&
    isUuid(id) &&
    typeof (updatedAt as unknown) === 'string' &&
    /^[\x20-\x7e]{1,64}$/.test(updatedAt) &&
    !updatedAt.includes('"')
  );
}
