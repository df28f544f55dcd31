import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { isUUID } from 'class-validator';
import { Column, Entity, PrimaryColumn, Repository } from 'typeorm';
import {
  checkKdf,
  isWrappedKey,
  type KdfRefusal,
  KdfRefused,
  type KeySlotKind,
} from '../../../../crypto/src/index.js';
import { Clock } from '../../../platform/clock.js';
import { Database, ofWorkspace, type Tx } from '../../../platform/database/index.js';
import {
  BadRequest,
  Conflict,
  Forbidden,
  NotFound,
  PreconditionFailed,
} from '../../../platform/http/index.js';
import { RateLimiter } from '../../../platform/limits/index.js';
import { type Counter, Metrics } from '../../../platform/metrics.js';
import { type Acting, AuditLog } from '../../auth/audit/index.js';
import { equalSecrets } from '../../auth/index.js';
import { type LockedWorkspace, lockWorkspaceRow, type WorkspaceEntity } from '../index.js';

/** The master key of a workspace, encrypted by a client under a password, recovery key or passkey. The service cannot open it. */
@Entity('key_slots')
export class StoredKeySlot {
  @PrimaryColumn('uuid')
  workspaceId: string;

  /** Chosen by the client. */
  @PrimaryColumn('uuid')
  id: string;

  @Column('text')
  kind: KeySlotKind;

  @Column('text', { nullable: true })
  label: string | null;

  /** JSON text. */
  @Column('text')
  kdf: string;

  @Column('bytea')
  wrappedKey: Buffer;

  @Column('timestamptz')
  createdAt: Date;

  /** Whole milliseconds; rises with every replacement. */
  @Column('timestamptz')
  updatedAt: Date;
}

/** The wrapped key as clients send it: base64 from PostgreSQL is broken into lines of 76 characters. */
export const WRAPPED_KEY = `translate(encode(wrapped_key, 'base64'), E'\\n', '') AS "wrappedKey"`;

export const keySlotStatements = {
  /** The salts of the workspace are in each row. Without slots, there is one row without an id; without the workspace, no row. */
  list: ofWorkspace(
    'key_slots.list',
    `SELECT w.encryption_salt AS "encryptionSalt", w.verification_salt AS "verificationSalt", slots.*
     FROM {workspaces} w
     LEFT JOIN LATERAL (SELECT id, kind, label, kdf, ${WRAPPED_KEY},
  created_at AS "createdAt", updated_at AS "updatedAt" FROM {key_slots} WHERE workspace_id = w.id) slots ON true
     WHERE w.id = $1 AND w.deleted_at IS NULL
     ORDER BY slots."createdAt", slots.id`,
  ),
};

export const KEY_SLOT_KINDS = ['password', 'recovery', 'passkey'] as const satisfies readonly KeySlotKind[];

/** The reason why a reader refuses `kdf` in a slot of this kind; undefined when it accepts it. */
export function kdfFault(kind: KeySlotKind, kdf: unknown): KdfRefusal | undefined {
  try {
    checkKdf(kind, kdf);
    return undefined;
  } catch (error) {
    if (error instanceof KdfRefused) return error.reason;
    throw error;
  }
}

/** Whether a reader tries to open the slot. Earlier versions of the service stored slots that no reader opens. */
export function isOpenable({ kind, kdf, wrappedKey }: StoredKeySlot): boolean {
  return isWrappedKey(wrappedKey.toString('base64')) && kdfFault(kind, JSON.parse(kdf)) === undefined;
}

/** Per workspace. */
const MAX_SLOTS = 16;
const MAX_PASSWORD_SLOTS = 4;

const WRITES_PER_MINUTE = 10;

/** A slot as clients send and read it. */
export interface KeySlot extends Readonly<Omit<StoredKeySlot, 'workspaceId' | 'kdf' | 'wrappedKey'>> {
  /** How the client derives the key that opens `wrappedKey`. Earlier versions stored any object. */
  readonly kdf: Readonly<Record<string, unknown>>;
  /** Base64. */
  readonly wrappedKey: string;
}

/** The slots of a workspace, and the salts that clients need with them. */
export interface KeySlotList extends Readonly<Pick<WorkspaceEntity, 'encryptionSalt' | 'verificationSalt'>> {
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

/** The content that a write stores. */
export type NewKeySlot = Pick<KeySlot, 'kind' | 'label' | 'kdf' | 'wrappedKey'>;

type SlotRow = Omit<KeySlot, 'kdf'> & { readonly kdf: string };
type ListRow = Omit<KeySlotList, 'slots'> & (SlotRow | { readonly id: null });

/**
 * Key slots: every write proves knowledge of the master key, so a stolen token alone neither adds a way into the vault nor
 * removes one. Writes run under the lock of the workspace's row.
 */
@Injectable()
export class KeySlots {
  private readonly writes: Counter;

  constructor(
    @InjectRepository(StoredKeySlot) private readonly slots: Repository<StoredKeySlot>,
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
    const result = await this.write(write, async (tx, others, existing, vault) => {
      checkPrecondition(write.ifMatch, existing);
      checkRoom(others, slot.kind);
      const { kind, label } = slot;
      const now = this.clock.now();
      const stored = {
        kind,
        label,
        kdf: JSON.stringify(slot.kdf),
        wrappedKey: Buffer.from(slot.wrappedKey, 'base64'),
        updatedAt: existing ? later(now, existing.updatedAt) : now,
      };
      const createdAt = existing?.createdAt ?? now;
      const key = { workspaceId, id: slotId };
      const slots = tx.manager.getRepository(StoredKeySlot);
      if (existing) await slots.update(key, stored);
      else await slots.insert({ ...key, ...stored, createdAt });
      await this.record(tx, 'key-slot.set', write, { ...vault, kind });
      return {
        slot: { ...slot, id: slotId, createdAt, updatedAt: stored.updatedAt },
        isNew: existing === undefined,
      };
    });
    this.writes.add({ outcome: result.isNew ? 'created' : 'replaced' });
    return result;
  }

  /**
   * @throws the same as `put`; NotFound without the slot; Conflict for the last slot that opens, because a vault without one may
   * never open again
   */
  async delete(write: KeySlotWrite): Promise<void> {
    await this.write(write, async (tx, others, existing, vault) => {
      if (!existing) throw new NotFound('key slot not found');
      checkPrecondition(write.ifMatch, existing);
      checkAnotherOpens(others, existing);
      const { workspaceId, id } = existing;
      await tx.manager.getRepository(StoredKeySlot).delete({ workspaceId, id });
      await this.record(tx, 'key-slot.removed', write, { ...vault, kind: existing.kind });
    });
    this.writes.add({ outcome: 'deleted' });
  }

  /** Deletes the slots of a deleted workspace; returns how many. */
  async purge(workspaceId: string): Promise<number> {
    return (await this.slots.delete({ workspaceId })).affected ?? 0;
  }

  private async write<T>(
    { workspaceId, slotId, verificationHash }: KeySlotWrite,
    change: (
      tx: Tx,
      others: readonly StoredKeySlot[],
      existing: StoredKeySlot | undefined,
      vault: LockedWorkspace,
    ) => Promise<T>,
  ): Promise<T> {
    if (!isUUID(slotId)) throw new BadRequest('slotId must be a UUID');
    await this.rateLimiter.hit(`key-slots:${workspaceId}`, WRITES_PER_MINUTE);
    return this.database.sharedTransaction(async (tx) => {
      const workspace = await lockWorkspaceRow(tx, workspaceId);
      if (!workspace || workspace.isDeleted) throw new NotFound('workspace not found');
      if (workspace.verificationHash === null) throw new Conflict('encryption is not set up');
      if (!equalSecrets(workspace.verificationHash, verificationHash)) {
        this.writes.add({ outcome: 'refused' });
        throw new Forbidden('verificationHash is wrong');
      }
      const stored = await tx.manager.getRepository(StoredKeySlot).findBy({ workspaceId });
      return change(
        tx,
        stored.filter(({ id }) => id !== slotId),
        stored.find(({ id }) => id === slotId),
        workspace,
      );
    }, workspaceId);
  }

  private async record(
    tx: Tx,
    action: 'key-slot.set' | 'key-slot.removed',
    { workspaceId, slotId, by }: KeySlotWrite,
    { userId, name, kind }: LockedWorkspace & Pick<KeySlot, 'kind'>,
  ): Promise<void> {
    const details = { workspace: name, workspaceId, slotId, kind };
    if (userId !== null) await this.audit.record({ action, userId, ...by, details }, tx);
  }
}

/** Returns a time after `before`, even when the clock was set back. */
function later(now: Date, before: Date): Date {
  return new Date(Math.max(now.getTime(), before.getTime() + 1));
}

function checkPrecondition(ifMatch: readonly string[] | null, existing: StoredKeySlot | undefined): void {
  if (ifMatch === null) return;
  if (existing && (ifMatch.includes('*') || ifMatch.includes(existing.updatedAt.toISOString()))) return;
  throw new PreconditionFailed('the key slot has changed');
}

function checkRoom(others: readonly StoredKeySlot[], kind: KeySlotKind): void {
  if (others.length >= MAX_SLOTS)
    throw new Conflict(`a workspace can have at most ${MAX_SLOTS} key slots: delete one first`);
  const passwords = others.filter((other) => other.kind === 'password');
  if (kind === 'password' && passwords.length >= MAX_PASSWORD_SLOTS)
    throw new Conflict(`a workspace can have at most ${MAX_PASSWORD_SLOTS} passwords: delete one first`);
}

/** A slot that no reader opens is no way into the vault. @throws Conflict */
function checkAnotherOpens(others: readonly StoredKeySlot[], existing: StoredKeySlot): void {
  if (others.length === 0 || (isOpenable(existing) && !others.some(isOpenable)))
    throw new Conflict('the last key slot of a workspace cannot be deleted: add another one first');
}

function slotOf({ id, kind, label, kdf, wrappedKey, createdAt, updatedAt }: SlotRow): KeySlot {
  return { id, kind, label, kdf: JSON.parse(kdf) as KeySlot['kdf'], wrappedKey, createdAt, updatedAt };
}
