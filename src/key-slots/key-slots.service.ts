import { Injectable } from '@nestjs/common';
import { isUUID } from 'class-validator';
import { type Acting, AuditLog } from '../audit/index.js';
import { equalSecrets } from '../auth/index.js';
import { Clock } from '../platform/clock/index.js';
import { Database, type Tx } from '../platform/database/index.js';
import { BadRequest, Conflict, Forbidden, NotFound, PreconditionFailed } from '../platform/http/index.js';
import { RateLimiter } from '../platform/limits/index.js';
import { type Counter, Metrics } from '../platform/metrics/index.js';
import type { KeySlotKind } from '../automation/key-slot-crypto.js';
import { keySlotStatements } from './key-slots.queries.js';
import { isOpenable, type SlotForm } from './slot-form.js';

/** Per workspace. */
const MAX_SLOTS = 16;
const MAX_PASSWORD_SLOTS = 4;

const WRITES_PER_MINUTE = 10;

/** The master key of a workspace, encrypted by a client under something that a person has. The service cannot open it. */
export interface KeySlot {
  /** A UUID, chosen by the client. */
  readonly id: string;
  readonly kind: KeySlotKind;
  readonly label: string | null;
  /** How the client derives the key that opens `wrappedKey`. Earlier versions stored any object. */
  readonly kdf: Readonly<Record<string, unknown>>;
  /** Base64. */
  readonly wrappedKey: string;
  readonly createdAt: Date;
  /** Whole milliseconds; rises with every replacement. */
  readonly updatedAt: Date;
}

/** The slots of a workspace, and the salts that clients need with them. */
export interface KeySlotList {
  /** Hex; null until encryption is set up, like the other. */
  readonly encryptionSalt: string | null;
  readonly verificationSalt: string | null;
  /** Oldest first. */
  readonly slots: readonly KeySlot[];
}

/** A write of a slot. */
export interface KeySlotWrite {
  readonly workspaceId: string;
  readonly slotId: string;
  /** Hex. Proves that the caller knows the master key. */
  readonly verificationHash: string;
  /** The slot must exist and have one of these as its `updatedAt`; `*` matches any. Null: no condition. */
  readonly ifMatch: readonly string[] | null;
  readonly by: Acting;
}

/** What a write stores. */
export type NewKeySlot = Pick<KeySlot, 'kind' | 'label' | 'kdf' | 'wrappedKey'>;

interface VaultRow {
  readonly verificationHash: string | null;
  /** Null once the account is deleted. */
  readonly userId: string | null;
  readonly name: string;
}

type StoredSlot = Pick<KeySlot, 'id' | 'updatedAt'> & SlotForm;
type SlotRow = Omit<KeySlot, 'kdf'> & { readonly kdf: string };
type ListRow = Omit<KeySlotList, 'slots'> & (SlotRow | { readonly id: null });

/**
 * Key slots: every write proves knowledge of the master key, so a stolen token alone neither adds a way into the vault nor removes
 * one. Writes run under the lock of the workspace's row.
 */
@Injectable()
export class KeySlots {
  private readonly writes: Counter;

  constructor(
    private readonly database: Database,
    private readonly rateLimiter: RateLimiter,
    private readonly clock: Clock,
    private readonly audit: AuditLog,
    metrics: Metrics,
  ) {
    this.writes = metrics.counter('cloud_sync_key_slot_writes_total', 'Writes of key slots', ['outcome']);
  }

  /** @throws NotFound */
  async list(workspaceId: string): Promise<KeySlotList> {
    const rows = await this.database.run<ListRow>(keySlotStatements.list, [workspaceId]);
    const [first] = rows;
    if (!first) throw new NotFound('workspace not found');
    const { encryptionSalt, verificationSalt } = first;
    return { encryptionSalt, verificationSalt, slots: rows.filter((row) => row.id !== null).map(slotOf) };
  }

  /**
   * Creates or replaces a slot. A repeat with the same content is another replacement.
   * @throws TooManyRequests after ten writes a minute, NotFound, Conflict before encryption is set up and beyond 16 slots or 4 of
   * kind `password`, Forbidden for a wrong verificationHash, PreconditionFailed
   */
  async put(write: KeySlotWrite, slot: NewKeySlot): Promise<{ slot: KeySlot; isNew: boolean }> {
    const { workspaceId, slotId } = write;
    const result = await this.write(write, async (tx, slots, existing, vault) => {
      checkPrecondition(write.ifMatch, existing);
      checkRoom(
        slots.filter(({ id }) => id !== slotId),
        slot.kind,
      );
      const content = [
        slot.kind,
        slot.label,
        JSON.stringify(slot.kdf),
        Buffer.from(slot.wrappedKey, 'base64'),
      ];
      const values = [workspaceId, slotId, ...content, this.clock.now()];
      const [row] = await tx.run<SlotRow>(keySlotStatements.put, values);
      await this.record(tx, 'key-slot.set', write, { ...vault, kind: slot.kind });
      return { slot: slotOf(row as SlotRow), isNew: existing === undefined };
    });
    this.writes.add({ outcome: result.isNew ? 'created' : 'replaced' });
    return result;
  }

  /** @throws the same as `put`; NotFound without the slot; Conflict for the last slot that opens, because a vault without one may never open again */
  async delete(write: KeySlotWrite): Promise<void> {
    await this.write(write, async (tx, slots, existing, vault) => {
      if (!existing) throw new NotFound('key slot not found');
      checkPrecondition(write.ifMatch, existing);
      checkAnotherOpens(
        slots.filter(({ id }) => id !== existing.id),
        existing,
      );
      await tx.run(keySlotStatements.delete, [write.workspaceId, existing.id]);
      await this.record(tx, 'key-slot.removed', write, { ...vault, kind: existing.kind });
    });
    this.writes.add({ outcome: 'deleted' });
  }

  private async write<T>(
    { workspaceId, slotId, verificationHash }: KeySlotWrite,
    change: (
      tx: Tx,
      slots: readonly StoredSlot[],
      existing: StoredSlot | undefined,
      vault: VaultRow,
    ) => Promise<T>,
  ): Promise<T> {
    if (!isUUID(slotId)) throw new BadRequest('slotId must be a UUID');
    await this.rateLimiter.hit(`key-slots:${workspaceId}`, WRITES_PER_MINUTE);
    return this.database.sharedTransaction(async (tx) => {
      const values = [workspaceId];
      const [workspace] = await tx.run<VaultRow>(keySlotStatements.lockWorkspace, values);
      if (!workspace) throw new NotFound('workspace not found');
      if (workspace.verificationHash === null) throw new Conflict('encryption is not set up');
      if (!equalSecrets(workspace.verificationHash, verificationHash)) {
        this.writes.add({ outcome: 'refused' });
        throw new Forbidden('verificationHash is wrong');
      }
      const slots = await tx.run<StoredSlot>(keySlotStatements.ofWorkspace, values);
      return change(
        tx,
        slots,
        slots.find(({ id }) => id === slotId),
        workspace,
      );
    }, workspaceId);
  }

  private async record(
    tx: Tx,
    action: 'key-slot.set' | 'key-slot.removed',
    { workspaceId, slotId, by }: KeySlotWrite,
    { userId, name, kind }: VaultRow & Pick<StoredSlot, 'kind'>,
  ): Promise<void> {
    const details = { workspace: name, workspaceId, slotId, kind };
    if (userId !== null) await this.audit.record({ action, userId, ...by, details }, tx);
  }
}

function checkPrecondition(ifMatch: readonly string[] | null, existing: StoredSlot | undefined): void {
  if (ifMatch === null) return;
  if (existing && (ifMatch.includes('*') || ifMatch.includes(existing.updatedAt.toISOString()))) return;
  throw new PreconditionFailed('the key slot has changed');
}

function checkRoom(others: readonly StoredSlot[], kind: KeySlotKind): void {
  if (others.length >= MAX_SLOTS)
    throw new Conflict(`a workspace can have at most ${MAX_SLOTS} key slots: delete one first`);
  const passwords = others.filter((other) => other.kind === 'password');
  if (kind === 'password' && passwords.length >= MAX_PASSWORD_SLOTS)
    throw new Conflict(`a workspace can have at most ${MAX_PASSWORD_SLOTS} passwords: delete one first`);
}

/** A slot that no reader opens is no way into the vault. @throws Conflict */
function checkAnotherOpens(others: readonly StoredSlot[], existing: StoredSlot): void {
  if (others.length === 0 || (isOpenable(existing) && !others.some(isOpenable)))
    throw new Conflict('the last key slot of a workspace cannot be deleted: add another one first');
}

function slotOf({ id, kind, label, kdf, wrappedKey, createdAt, updatedAt }: SlotRow): KeySlot {
  return { id, kind, label, kdf: JSON.parse(kdf) as KeySlot['kdf'], wrappedKey, createdAt, updatedAt };
}
