import { createHash } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { ApiError, DecryptionError, type HttpOptions, Session } from '../../../../client/src/core/index.js';
import { KeySlots, type PasswordCrypto } from '../../../../client/src/core/vault/key-slots.js';
import { addPassword, adoptSlots, changePassword } from '../../../../client/src/core/vault/password.js';
import { draftRecoveryKey, removeSlot } from '../../../../client/src/core/vault/recovery.js';
import { openingSlots, unlock, WrongSecret } from '../../../../client/src/core/vault/unlock.js';
import { KDFS } from '../../../kit/key-slots.js';
import type { Answer, Call } from './slot-table.js';

/** Answers a request, without retries. */
export type Server = (call: Call) => Promise<Answer>;

/** The key slots of a workspace whose requests a function answers, without retries. */
export function keySlotsAt(server: Server, workspaceId: string): KeySlots {
  const fetch: HttpOptions['fetch'] = async (url, { method = 'GET', headers, body }) => {
    const call: Call = {
      ...{ method, path: new URL(url).pathname, headers: Object.fromEntries(new Headers(headers)) },
      ...(body && { json: JSON.parse(new TextDecoder().decode(body as Uint8Array)) as unknown }),
    };
    const answer = await server(call);
    return Response.json(answer.body, { status: answer.status });
  };
  const session = Session.withAccessToken('http://service.test', 'a-token', {
    fetch,
    retries: { attempts: 1 },
  });
  return new KeySlots(session, workspaceId, FAST_CRYPTO);
}

export const OPERATIONS = [
  'open',
  'change',
  'change again',
  'recover',
  'make recovery key',
  'remove',
] as const;
export type Operation = (typeof OPERATIONS)[number];

/**
 * The fate of a request. `lost`: it is done, and the client repeats it later because no answer came.
 * `killed`: the device ends, before or after it was done.
 */
export const FATES = ['answered', 'answered', 'answered', 'lost', 'killed before', 'killed after'] as const;
export type Fate = (typeof FATES)[number];

/** The secrets that the owner of the vault, who uses all devices, knows to work. */
export interface Owner {
  password: string;
  /** Whether the recovery key is in use because the password is not known any more. */
  hasForgotten: boolean;
  readonly recoveryKeys: string[];
  passwords: number;
}

/** Bytes of a wrapped key besides the master key. */
const SEAL_BYTES = 93 - 32;

const sealOf = (...parts: readonly string[]): Buffer =>
  createHash('sha512').update(JSON.stringify(parts)).digest().subarray(0, SEAL_BYTES);

/** Like the real one in what matters here: a slot opens with its password at its place, and nowhere else. */
export const FAST_CRYPTO: PasswordCrypto = {
  makePasswordSlot: ({ workspaceId, slotId }, masterKey, password) => {
    const sealed = Buffer.concat([sealOf(workspaceId, slotId, password), masterKey]);
    return Promise.resolve({ kind: 'password', kdf: KDFS.password, wrappedKey: sealed.toString('base64') });
  },
  openPasswordSlot: async ({ workspaceId, slotId }, { wrappedKey }, password) => {
    const sealed = Buffer.from(String(wrappedKey), 'base64');
    if (!sealed.subarray(0, SEAL_BYTES).equals(sealOf(workspaceId, slotId, password)))
      throw new DecryptionError('it does not open');
    return Promise.resolve(new Uint8Array(sealed.subarray(SEAL_BYTES)));
  },
  deriveMasterKey: (password, salt) =>
    Promise.resolve(new Uint8Array(Buffer.alloc(32, `${password} ${salt}`))),
};

interface Pending {
  readonly call: Call;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: Error) => void;
}

/** A device: one operation at a time, whose requests wait until their fate is decided. */
export class ModelDevice {
  private pending: Pending | undefined;
  private isBusy = false;
  private lastChange: { old: string; fresh: string } | undefined;
  /** An error that no fate explains. */
  failure: unknown;

  constructor(
    private readonly server: Server,
    private readonly workspaceId: string,
    private readonly owner: Owner,
  ) {}

  /** Begins an operation, or decides the fate of the request that waits. */
  async step(operation: Operation, fate: Fate): Promise<void> {
    if (!this.isBusy) this.begin(operation);
    else if (this.pending) await this.decide(this.pending, fate);
    await setImmediate();
  }

  /** Lets the operation finish. */
  async settle(): Promise<void> {
    while (this.pending) await this.step('open', 'answered');
  }

  private begin(operation: Operation): void {
    this.isBusy = true;
    let isAlive = true;
    const ask: Server = (call) =>
      new Promise((resolve, reject) => {
        if (isAlive) this.pending = { call, resolve, reject };
        else reject(new Error('the device has ended'));
      });
    this.end = () => {
      isAlive = false;
      this.pending?.reject(new Error('the device has ended'));
      this.pending = undefined;
      this.isBusy = false;
    };
    const slots = keySlotsAt(ask, this.workspaceId);
    this.run(operation, slots).then(
      () => isAlive && this.end(),
      (error: unknown) => {
        if (!isAlive) return;
        if (!isExpected(error)) this.failure = error;
        this.end();
      },
    );
  }

  private end: () => void = () => undefined;

  private async decide(request: Pending, fate: Fate): Promise<void> {
    if (fate === 'killed before') {
      this.end();
      return;
    }
    const answer = await this.server(request.call);
    if (fate === 'killed after') this.end();
    if (fate !== 'answered') return;
    this.pending = undefined;
    request.resolve(answer);
  }

  private async run(operation: Operation, slots: KeySlots): Promise<void> {
    const { owner } = this;
    const { password } = owner;
    if (operation === 'change' || operation === 'change again') {
      if (operation === 'change') this.lastChange = { old: password, fresh: this.newPassword() };
      const change = this.lastChange;
      if (change) await changePassword(slots, { ...change, whenAdded: () => this.acknowledge(change.fresh) });
    } else if (operation === 'recover') {
      const [recoveryKey] = owner.recoveryKeys;
      if (recoveryKey === undefined) return;
      owner.hasForgotten = true;
      const vault = await unlock(slots, { recoveryKey: recoveryKey.toLowerCase() }, true);
      const fresh = this.newPassword();
      await addPassword(vault, fresh);
      this.acknowledge(fresh);
    } else {
      const vault = await unlock(slots, { password }, false);
      if (operation === 'open') await adoptSlots(vault, password);
      if (operation === 'make recovery key') {
        const draft = await draftRecoveryKey(vault);
        await draft.confirm(draft.text);
        owner.recoveryKeys.push(draft.text);
      }
      if (operation === 'remove') {
        const keep = await openingSlots(slots, vault.listed, owner.password); // by now it may be another password
        const outdated = vault.listed.filter(({ kind }) => kind === 'password');
        const other = outdated.find(
          ({ id }) => id !== vault.openedBy?.id && keep.every(({ slot }) => slot.id !== id),
        );
        if (other) await removeSlot(vault, other.id);
      }
    }
  }

  private acknowledge(password: string): void {
    this.owner.password = password;
    this.owner.hasForgotten = false;
  }

  private newPassword(): string {
    return `password ${++this.owner.passwords}`;
  }
}

/** Refusals that a device meets when the other one was faster. */
function isExpected(error: unknown): boolean {
  if (error instanceof WrongSecret) return true;
  if (error instanceof ApiError) return error.status === 409;
  return error instanceof Error && /replaced this key slot|by another key slot/.test(error.message);
}
