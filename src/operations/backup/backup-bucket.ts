import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { OperatorError, removeTree } from '../../platform/config/index.js';
import type { S3Objects } from '../../platform/storage/index.js';
import {
  BEGUN,
  BucketParts,
  bytesOf,
  type Manifest,
  MANIFEST,
  NotABackup,
  parsed,
  readManifest,
  SCHEDULED,
  stampOf,
  surplusOf,
} from './backup-parts.js';
import {
  type BackupState,
  BackupTarget,
  type Draft,
  type ListedBackup,
  type Names,
  NO_NAMES,
  oldestFirst,
} from './backup-target.js';
import { BucketMark } from './backup-places.js';

/** Written last. A backup is verified when it has this and its manifest. */
const VERIFIED = 'verified';

const SCRATCH = 'backup-trial-';

/**
 * BACKUP_DIR as `s3://bucket/prefix`. Objects cannot be renamed, so the objects of a backup determine its state: partial without
 * a manifest, unverified with a manifest, and verified with `verified` as well. The manifest is removed before the parts.
 */
export class BackupBucket extends BackupTarget {
  readonly mark: BucketMark;

  /** @param path as configured @param dataDir where the trial is made */
  constructor(
    readonly path: string,
    private readonly objects: S3Objects,
    private readonly dataDir: string,
  ) {
    super();
    this.mark = new BucketMark(this.root, objects);
  }

  async begin(now: Date, spared = NO_NAMES): Promise<Draft> {
    await this.objects.makeBucket();
    for (const name of await this.inState('partial')) await this.remove(name);
    const unverified = await this.inState('unverified', spared); // several when a run had to end at once
    for (const name of unverified.slice(0, -1)) await this.remove(name);
    const stamp = stampOf(now);
    return { stamp, draft: `${this.root}/${SCHEDULED}${stamp}`, scratch: await this.makeScratch(stamp) };
  }

  async publish(_draft: string, stamp: string, spared = NO_NAMES): Promise<void> {
    const name = SCHEDULED + stamp;
    await this.objects.put(`${name}/${VERIFIED}`, bytesOf(''), 0);
    await this.removeUnverified(name, spared);
  }

  /** Only removes earlier unverified backups: the objects of this one already say that it is unverified. */
  async setAside(_draft: string, stamp: string, spared = NO_NAMES): Promise<string> {
    const name = SCHEDULED + stamp;
    await this.removeUnverified(name, spared);
    return name;
  }

  async discard(draft: string): Promise<void> {
    await this.remove(draft.slice(this.root.length + 1));
  }

  async prune(keep: number, newest: string, spared = NO_NAMES): Promise<number> {
    const surplus = surplusOf(await this.inState('verified', spared), keep, newest);
    for (const name of surplus) await this.remove(name);
    return surplus.length;
  }

  /** Danger: a partial backup is removed. An answer that says nothing about it, such as of a store that is away, must throw. */
  async list(): Promise<ListedBackup[]> {
    const all: ListedBackup[] = [];
    for (const name of await this.objects.names()) {
      const state = await this.stateOf(name);
      if (state === undefined) continue;
      const manifest = state === 'partial' ? undefined : await this.manifestOf(name);
      all.push(manifest ? { name, state, manifest } : { name, state });
    }
    return oldestFirst(all);
  }

  private get root(): string {
    return this.path.replace(/\/$/, '');
  }

  private async stateOf(name: string): Promise<BackupState | undefined> {
    const isComplete = await this.has(name, MANIFEST);
    if (parsed(name)?.prefix !== SCHEDULED) return isComplete ? 'by hand' : undefined; // undefined: not a backup
    if (!isComplete) return 'partial';
    return (await this.has(name, VERIFIED)) ? 'verified' : 'unverified';
  }

  private async has(name: string, part: string): Promise<boolean> {
    return (await this.objects.sizeOf(`${name}/${part}`)) !== undefined;
  }

  private async manifestOf(name: string): Promise<Manifest | undefined> {
    const parts = new BucketParts(`${this.root}/${name}`, this.objects.below(name));
    try {
      return await readManifest(parts);
    } catch (error) {
      if (error instanceof NotABackup) return undefined;
      throw error;
    }
  }

  private async inState(wanted: BackupState, spared = NO_NAMES): Promise<string[]> {
    const found = (await this.list()).filter(({ state }) => state === wanted);
    return found.map(({ name }) => name).filter((name) => !spared.has(name));
  }

  private async removeUnverified(except: string, spared: Names): Promise<void> {
    for (const name of await this.inState('unverified', spared)) if (name !== except) await this.remove(name);
  }

  /** Removes its state first: a half-removed backup must not count as one, even if its run is still alive without the lock. */
  private async remove(name: string): Promise<void> {
    for (const part of [BEGUN, VERIFIED, MANIFEST]) await this.objects.remove(`${name}/${part}`);
    await this.objects.below(name).removeAll();
  }

  /** Each run has its own directory, because a run that has lost its lock still removes its directory at its end. */
  private async makeScratch(stamp: string): Promise<string> {
    try {
      await mkdir(this.dataDir, { recursive: true });
      for (const name of await readdir(this.dataDir))
        if (name.startsWith(SCRATCH)) await removeTree(join(this.dataDir, name)); // left by a run that was killed here
      const scratch = join(this.dataDir, SCRATCH + stamp);
      await mkdir(scratch, { mode: 0o700 });
      return scratch;
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code ?? 'unknown error';
      const sentence = `The trial of the backup cannot be made in ${this.dataDir} (${code}); it must be a directory that the service can write.`;
      throw new OperatorError(sentence, { cause: error });
    }
  }
}
