import { rm } from 'node:fs/promises';
import { deriveVaultKeys } from '../../src/automation/vault-crypto.js';
import { bodyOf } from '../sync-folder/http.js';
import { loadJson, saveJson } from '../sync-folder/json-file.js';
import { Contents } from './contents.js';
import { createVault } from './create.js';
import { type Caller, KeySlots } from './key-slots.js';
import { type Progress, RotationCopy } from './rotation-copy.js';
import { extended, type Plan } from './rotation-plan.js';
import { type Unlocked, unlockByPassword, WrongSecret } from './unlock.js';

/** A rotation that is under way. It contains no secret. */
interface Record {
  readonly oldId: string;
  readonly newId: string;
  readonly plan: Plan;
  /** From now on the old workspace may be gone. */
  readonly isVerified: boolean;
}

/** What a rotation needs. */
export interface Rotation {
  readonly service: Caller;
  readonly oldId: string;
  /** Opens the old vault; not called when only the end of a rotation is left. */
  readonly unlockOld: () => Promise<Unlocked>;
  readonly newPassword: string;
  /** Keeps what has been planned, so that a rotation goes on after a crash at any moment. */
  readonly file: string;
  readonly progress: Progress;
}

const NOTHING: Plan = { cursor: 0, steps: [] };

/**
 * Encrypts everything of a workspace under a new master key into a new workspace, compares every byte, and deletes the
 * old one only then. Repeat it after a crash with the same file: it goes on where it was. @returns the id of the new
 * workspace
 */
export async function rotate(rotation: Rotation): Promise<string> {
  const { service, oldId, file, newPassword } = rotation;
  const kept = await loadJson<Record>(file);
  if (kept && kept.oldId !== oldId) throw new Error(`${file} is of the rotation of another workspace`);
  const name = await nameOf(service, oldId);
  if (name === undefined) {
    if (!kept?.isVerified) throw new Error('the workspace does not exist');
  } else {
    const unlockedOld = await rotation.unlockOld();
    const newId = kept?.newId ?? (await createVault(service, name, newPassword));
    const record = kept ?? { oldId, newId, plan: NOTHING, isVerified: false };
    await saveJson(file, record);
    const copy = {
      old: contentsOf(service, unlockedOld),
      fresh: await freshContents(service, newId, newPassword),
    };
    await complete(rotation, record, copy);
    await service.call({ method: 'DELETE', path: `/api/v1/workspaces/${oldId}` }, 404); // 404: a repeat
  }
  const { newId } = (await loadJson<Record>(file)) as Record;
  return newId;
}

/** To be called when the new id has been passed on. */
export const forgetRotation = (file: string): Promise<void> => rm(file, { force: true });

/** Copies until nothing has changed in the old workspace while it was compared. */
async function complete(
  { file, progress }: Rotation,
  record: Record,
  { old, fresh }: { old: Contents; fresh: Contents },
): Promise<void> {
  const copy = new RotationCopy(old, fresh, progress);
  let { plan } = record;
  for (;;) {
    plan = await extended(plan, old);
    await saveJson(file, { ...record, plan, isVerified: false });
    await copy.run(plan);
    await copy.copyAssets();
    await copy.verify(plan);
    const isSame = (await copy.copyAssets()) === 0;
    if (isSame && (await extended(plan, old)).steps.length === plan.steps.length) break;
  }
  await saveJson(file, { ...record, plan, isVerified: true });
}

function contentsOf(service: Caller, { slots, masterKey }: Unlocked): Contents {
  return new Contents(service, slots.workspaceId, deriveVaultKeys(masterKey));
}

async function freshContents(service: Caller, newId: string, password: string): Promise<Contents> {
  try {
    return contentsOf(service, await unlockByPassword(new KeySlots(service, newId), password));
  } catch (error) {
    if (!(error instanceof WrongSecret)) throw error;
    throw new Error('this is not the new password with which the rotation began', { cause: error });
  }
}

async function nameOf(service: Caller, workspaceId: string): Promise<string | undefined> {
  const answer = await service.call({ method: 'GET', path: `/api/v1/workspaces/${workspaceId}` }, 404);
  return answer.status === 404 ? undefined : (bodyOf(answer) as { name: string }).name;
}
