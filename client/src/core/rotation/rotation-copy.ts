import {
  areEqual,
  type Bytes,
  contentHash,
  decryptAsset,
  decryptAssetName,
  decryptContent,
  decryptLabel,
  decryptPath,
  encryptAsset,
  encryptAssetName,
  encryptContent,
  encryptLabel,
  encryptPath,
} from '../crypto/index.js';
import { inLanes } from '../workspace/index.js';
import type { Contents } from './contents.js';
import { doneSteps, type RotationPlan, type RotationStep } from './rotation-plan.js';

const IN_FLIGHT = 8;

/** Reports the progress of a rotation. */
export type RotationProgress = (doing: string, done: number, total: number) => void;

/** Copies one workspace to another under other keys, and compares the two. */
export class RotationCopy {
  constructor(
    private readonly old: Contents,
    private readonly fresh: Contents,
    private readonly progress: RotationProgress,
  ) {}

  /** Carries out the remaining steps in order. @throws when the old workspace lost a planned version */
  async run(plan: RotationPlan): Promise<void> {
    const { steps } = plan;
    const done = await doneSteps(plan, this.fresh, (path) => this.pathOf(path));
    for (const [index, step] of steps.entries()) {
      if (index < done) continue;
      await this.do(step);
      this.progress('copied', index + 1, steps.length);
    }
  }

  /** Copies the assets to the new workspace, and deletes any others there. Compares all bytes. @returns how many changed */
  async copyAssets(): Promise<number> {
    const { old, fresh } = this;
    const present = new Set(await fresh.assets());
    let changed = 0;
    for (const token of await old.assets()) {
      const envelope = await old.downloadAsset(token);
      if (!envelope) continue; // deleted meanwhile
      const name = encryptAssetName(fresh.keys, decryptAssetName(old.keys, token));
      const content = await decryptAsset(old.keys, envelope);
      const copy = present.delete(name) ? await fresh.downloadAsset(name) : undefined;
      if (copy && areEqual(await decryptAsset(fresh.keys, copy), content)) continue;
      changed++;
      if (copy) await fresh.deleteAsset(name);
      await fresh.uploadAsset(name, await encryptAsset(fresh.keys, content));
    }
    for (const name of present) await fresh.deleteAsset(name);
    return changed + present.size;
  }

  /**
   * Downloads every version from both workspaces, decrypts and compares them; then compares all checkpoints: kind, label
   * and the state that they mark.
   * @throws when anything is missing or differs
   */
  async verify(plan: RotationPlan): Promise<void> {
    const { steps } = plan;
    if ((await doneSteps(plan, this.fresh, (path) => this.pathOf(path))) !== steps.length)
      throw new Error('the new workspace is not complete');
    const uploads = new Map<string, string[]>();
    for (const step of steps)
      if (step.do === 'upload') uploads.set(step.path, [...(uploads.get(step.path) ?? []), step.versionId]);
    let done = 0;
    const compare = async ([path, versionIds]: [string, string[]]): Promise<string[]> => {
      await this.compare(path, versionIds);
      return [path];
    };
    const verified = inLanes(uploads, () => IN_FLIGHT, compare);
    while ((await verified.next()).done !== true) this.progress('verified', ++done, uploads.size);
    const copied: string[] = [];
    for (const { cursor, kind, encryptedLabel } of await this.fresh.checkpoints())
      copied.push(markOf(cursor, kind, await decryptLabel(this.fresh.keys, encryptedLabel)));
    const expected = await this.marksOf(steps);
    if (copied.sort().join() !== expected.sort().join()) throw new Error('the checkpoints differ');
  }

  /** The checkpoints that the new workspace should have. Every other step is one change there. */
  private async marksOf(steps: readonly RotationStep[]): Promise<string[]> {
    const marks: string[] = [];
    let changes = 0;
    for (const step of steps)
      if (step.do === 'checkpoint')
        marks.push(markOf(changes, step.kind, await decryptLabel(this.old.keys, step.label)));
      else changes++;
    return marks;
  }

  private async do(step: RotationStep): Promise<void> {
    const { old, fresh } = this;
    if (step.do === 'checkpoint') {
      const label = await decryptLabel(old.keys, step.label);
      return fresh.createCheckpoint(await encryptLabel(fresh.keys, label), step.kind);
    }
    const path = this.pathOf(step.path);
    if (step.do === 'delete') return fresh.delete(path);
    const content = await this.contentOf(old, step.path, step.versionId);
    if (!content)
      throw new Error('a version has been thinned out meanwhile: delete the new workspace, and begin again');
    const envelope = await encryptContent(fresh.keys, path, content);
    await fresh.upload(path, await contentHash(envelope), envelope);
  }

  private async compare(oldPath: string, oldVersions: readonly string[]): Promise<void> {
    const path = this.pathOf(oldPath);
    const versions = await this.fresh.versions(path);
    const name = decryptPath(this.old.keys, oldPath);
    if (versions.length !== oldVersions.length)
      throw new Error(
        `${name} has ${versions.length} versions in the new workspace, ${oldVersions.length} in the old`,
      );
    for (const [index, { id }] of versions.entries()) {
      const copy = await this.contentOf(this.fresh, path, id);
      const original = await this.contentOf(this.old, oldPath, oldVersions[index] ?? '');
      // If the service has thinned out the original since, the copy was checked when it was made.
      if (!copy || (original && !areEqual(original, copy)))
        throw new Error(`${name} differs in the new workspace`);
    }
  }

  private async contentOf(from: Contents, path: string, versionId: string): Promise<Bytes | undefined> {
    const envelope = await from.download(path, versionId);
    return envelope && decryptContent(from.keys, path, envelope);
  }

  private pathOf(oldPath: string): string {
    return encryptPath(this.fresh.keys, decryptPath(this.old.keys, oldPath));
  }
}

const markOf = (cursor: number, kind: string, label: string): string => JSON.stringify([cursor, kind, label]);
