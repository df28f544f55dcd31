import { dataOf, type Session } from '../api/index.js';
import type { VaultKeys } from '../crypto/index.js';
import { Vault, WrongSecret } from '../vault/index.js';
import { Contents } from './contents.js';
import { RotationCopy, type RotationProgress } from './rotation-copy.js';
import { extended, type RotationPlan } from './rotation-plan.js';
import { unless404 } from './unless-404.js';

/** The progress of a rotation. Contains no secret. */
export interface RotationRecord {
  readonly oldId: string;
  readonly newId: string;
  readonly plan: RotationPlan;
  /** From then on the old workspace may be deleted. */
  readonly isVerified: boolean;
}

/** Stores the record of one rotation, so that it can resume after a crash at any point. */
export interface RotationStore {
  /** @returns undefined when there is none */
  load(): Promise<RotationRecord | undefined>;
  /** Replaces the record atomically and durably. */
  save(record: RotationRecord): Promise<void>;
}

export interface Rotation {
  readonly session: Session;
  readonly oldId: string;
  /** Opens the old vault. Not called when only the last steps of a rotation are left. */
  readonly unlockOld: () => Promise<VaultKeys>;
  readonly newPassword: string;
  readonly store: RotationStore;
  readonly onProgress?: RotationProgress;
}

const NOTHING: RotationPlan = { cursor: 0, steps: [] };

/**
 * Encrypts everything in a workspace under a new master key into a new workspace, compares every byte, and only then
 * deletes the old one. After a crash, call it again with the same store to resume. Delete the record once the id of the new
 * workspace is stored elsewhere. @returns the vault of the new workspace
 */
export async function rotate(rotation: Rotation): Promise<Vault> {
  const { session, oldId, store, newPassword } = rotation;
  const kept = await store.load();
  if (kept && kept.oldId !== oldId)
    throw new Error('the record is that of the rotation of another workspace');
  const name = await nameOf(session, oldId);
  if (name === undefined) {
    if (!kept?.isVerified) throw new Error('the workspace does not exist');
    return freshVault(session, kept.newId, newPassword);
  }
  const old = new Contents(session, oldId, await rotation.unlockOld());
  const record = (await ongoing(session, kept)) ?? {
    ...{ oldId, plan: NOTHING, isVerified: false },
    newId: (await Vault.create(session, name, newPassword)).workspaceId,
  };
  await store.save(record);
  const vault = await freshVault(session, record.newId, newPassword);
  await complete(rotation, record, old, new Contents(session, record.newId, vault.keys));
  await deleted(session, oldId);
  return vault;
}

/** @returns undefined when its new workspace has been deleted: the rotation starts again */
async function ongoing(
  session: Session,
  kept: RotationRecord | undefined,
): Promise<RotationRecord | undefined> {
  const isThere = kept && (await nameOf(session, kept.newId)) !== undefined;
  return isThere ? kept : undefined;
}

/** Copies until the old workspace has not changed during a comparison. */
async function complete(
  { store, onProgress = () => undefined }: Rotation,
  record: RotationRecord,
  old: Contents,
  fresh: Contents,
): Promise<void> {
  const copy = new RotationCopy(old, fresh, onProgress);
  let { plan } = record;
  for (;;) {
    plan = await extended(plan, old);
    await save(store, { ...record, plan, isVerified: false });
    await copy.run(plan);
    await copy.copyAssets();
    await copy.verify(plan);
    const isSame = (await copy.copyAssets()) === 0;
    if (isSame && (await extended(plan, old)).steps.length === plan.steps.length) break;
  }
  await save(store, { ...record, plan, isVerified: true });
}

/** @throws when another rotation has stored its record: only one of them may delete the old workspace */
async function save(store: RotationStore, record: RotationRecord): Promise<void> {
  if ((await store.load())?.newId !== record.newId)
    throw new Error('another rotation of this workspace writes to the same record: end all, and begin again');
  await store.save(record);
}

async function freshVault(session: Session, newId: string, password: string): Promise<Vault> {
  try {
    return await Vault.unlock(session, newId, { password }, { hasSlots: true });
  } catch (error) {
    if (!(error instanceof WrongSecret)) throw error;
    throw new WrongSecret('this is not the new password with which the rotation began', { cause: error });
  }
}

async function nameOf(session: Session, id: string): Promise<string | undefined> {
  const answer = dataOf(session.api.GET('/api/v1/workspaces/{id}', { params: { path: { id } } }));
  return (await unless404(answer))?.name;
}

/** 404: a repeat after a lost answer. */
async function deleted(session: Session, id: string): Promise<void> {
  await unless404(session.api.DELETE('/api/v1/workspaces/{id}', { params: { path: { id } } }));
}
