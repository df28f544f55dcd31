import { dataOf, type Session } from '../api/index.js';
import type { VaultKeys } from '../crypto/index.js';
import { Vault, WrongSecret } from '../vault/index.js';
import { Contents } from './contents.js';
import { RotationCopy, type RotationProgress } from './rotation-copy.js';
import { extended, type RotationPlan } from './rotation-plan.js';
import { unless404 } from './unless-404.js';

/** A rotation that is under way. It contains no secret. */
export interface RotationRecord {
  readonly oldId: string;
  readonly newId: string;
  readonly plan: RotationPlan;
  /** From now on the old workspace may be gone. */
  readonly isVerified: boolean;
}

/** Keeps the record of one rotation, so that it goes on after a crash at any moment. */
export interface RotationStore {
  /** @returns undefined when there is none */
  load(): Promise<RotationRecord | undefined>;
  /** Replaces it, as a whole and durably. */
  save(record: RotationRecord): Promise<void>;
}

/** What a rotation needs. */
export interface Rotation {
  readonly session: Session;
  readonly oldId: string;
  /** Opens the old vault; not called when only the end of a rotation is left. */
  readonly unlockOld: () => Promise<VaultKeys>;
  readonly newPassword: string;
  readonly store: RotationStore;
  readonly onProgress?: RotationProgress;
}

const NOTHING: RotationPlan = { cursor: 0, steps: [] };

/**
 * Encrypts everything of a workspace under a new master key into a new workspace, compares every byte, and deletes the
 * old one only then. Repeat it after a crash with the same store: it goes on where it was. Forget the record when the id
 * of the new workspace has been passed on. @returns the vault of the new workspace
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

/** Undefined when its new workspace has been deleted: the rotation begins again. */
async function ongoing(
  session: Session,
  kept: RotationRecord | undefined,
): Promise<RotationRecord | undefined> {
  const isThere = kept && (await nameOf(session, kept.newId)) !== undefined;
  return isThere ? kept : undefined;
}

/** Copies until nothing has changed in the old workspace while it was compared. */
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

/** @throws when another rotation has put its own record there: only one of them may delete the old workspace */
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
