import type { KeySlot } from '../../../../client/src/core/vault/key-slots.js';

/** A request for JSON. */
export interface Call {
  readonly method: string;
  readonly path: string;
  /** By lower-case name. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly json?: unknown;
}

export interface Answer {
  readonly status: number;
  readonly body: object;
}

const MOST_SLOTS = 16;
const MOST_PASSWORDS = 4;

interface Setup {
  readonly encryptionSalt: string;
  readonly verificationSalt: string;
  readonly verificationHash: string;
}

type Content = Pick<KeySlot, 'kind' | 'label' | 'kdf' | 'wrappedKey'>;

type Written = Omit<KeySlot, 'createdAt'>;

/** The routes of one workspace that vaults need, in memory. vault-keys.spec.ts compares it to the service. */
export class SlotTable {
  private setup: Setup | undefined;
  private slots: KeySlot[] = [];
  private writes = 0;

  constructor(readonly workspaceId: string) {}

  /** @param updatedAt when a slot is written, as the service answers */
  answer(call: Call, updatedAt = this.nextTime()): Answer {
    const json = (call.json ?? {}) as Setup & Content;
    const route = call.path.slice(`/api/v1/workspaces/${this.workspaceId}/`.length);
    if (route === 'setup-encryption') return this.setUp(json);
    if (route === 'verify-password')
      return answered(200, { valid: this.setup?.verificationHash === json.verificationHash });
    if (route === 'key-slots') {
      const { encryptionSalt = null, verificationSalt = null } = this.setup ?? {};
      return answered(200, { encryptionSalt, verificationSalt, slots: this.slots });
    }
    const id = route.slice('key-slots/'.length);
    if (!this.setup) return answered(409);
    if (this.setup.verificationHash !== json.verificationHash) return answered(403);
    return call.method === 'PUT'
      ? this.put({ ...json, id, updatedAt })
      : this.delete(id, call.headers?.['if-match']);
  }

  private setUp(json: Setup): Answer {
    if (this.setup) return answered(409);
    this.setup = json;
    return answered(200, { ok: true });
  }

  private put({ id, kind, label, kdf, wrappedKey, updatedAt }: Written): Answer {
    const others = this.slots.filter((slot) => slot.id !== id);
    const passwords = others.filter((slot) => slot.kind === 'password');
    if (others.length >= MOST_SLOTS || (kind === 'password' && passwords.length >= MOST_PASSWORDS))
      return answered(409);
    const slot: KeySlot = {
      id,
      kind,
      label: label ?? null,
      kdf,
      wrappedKey,
      createdAt: updatedAt,
      updatedAt,
    };
    const isNew = others.length === this.slots.length;
    this.slots = isNew ? [...this.slots, slot] : this.slots.map((one) => (one.id === id ? slot : one));
    return answered(isNew ? 201 : 200, slot);
  }

  private delete(id: string, ifMatch: string | undefined): Answer {
    const slot = this.slots.find((one) => one.id === id);
    if (!slot) return answered(404);
    if (ifMatch !== undefined && ifMatch !== `"${slot.updatedAt}"`) return answered(412);
    if (this.slots.length === 1) return answered(409);
    this.slots = this.slots.filter((one) => one !== slot);
    return answered(200, { ok: true });
  }

  private nextTime(): string {
    return new Date(++this.writes).toISOString();
  }
}

function answered(status: number, body: object = { error: 'refused' }): Answer {
  return { status, body };
}
