import { Injectable } from '@nestjs/common';
import { randomBytes } from 'node:crypto';
import { readFile, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { Clock } from '../../platform/clock.js';
import {
  Configuration,
  intendedOwnerOf,
  isInS3,
  OperatorError,
  syncDirectory,
  writeDurably,
} from '../../platform/config/index.js';
import { JobRuns, KEPT_RUNS } from '../../platform/jobs/index.js';
import { BlobMissing, type S3Objects } from '../../platform/storage/index.js';
import { bytesOf, parsed, withObjects } from './backup-parts.js';
import { BACKUP_JOB } from './backup-schedule.js';
import type { BackupTarget, ListedBackup, Names } from './backup-target.js';
import { DatabaseIdentity } from './database-identity.js';
import { foreignPlace, MARK, PlaceMark, SETTLING } from './place-mark.js';

/** The mark of a prefix in a bucket: an object. */
export class BucketMark extends PlaceMark {
  constructor(
    readonly place: string,
    private readonly objects: S3Objects,
  ) {
    super();
  }

  prepare(): Promise<void> {
    return this.objects.makeBucket();
  }

  replace(id: string): Promise<void> {
    return this.objects.put(MARK, bytesOf(id), id.length);
  }

  /** If the store ignores the condition, the last writer gets the place, and all others read its id afterwards. */
  protected async create(id: string): Promise<void> {
    if (!(await this.objects.putNew(MARK, id))) return;
    if (await this.objects.putNew(MARK, id)) await SETTLING.wait();
  }

  protected async read(): Promise<string | undefined> {
    try {
      return (await text(this.objects.read(MARK))).trim();
    } catch (error) {
      if (error instanceof BlobMissing) return undefined;
      throw error;
    }
  }
}

const LOOK_MS = 100;
const LOOKS = 30;

/** The mark of a directory: a file. It is not linked into place, because the file system may have no links, such as exFAT. */
export class DirectoryMark extends PlaceMark {
  constructor(readonly place: string) {
    super();
  }

  /** A directory that does not exist may be a disk that is not mounted. */
  async prepare(): Promise<void> {
    // the operator creates it
  }

  async replace(id: string): Promise<void> {
    const draft = `${this.path}.${randomBytes(6).toString('hex')}`;
    await this.explained(async () => {
      try {
        await this.write(draft, id);
        await rename(draft, this.path);
      } finally {
        await rm(draft, { force: true });
      }
      await syncDirectory(this.place);
    });
  }

  protected create(id: string): Promise<void> {
    return this.explained(async () => {
      await this.write(this.path, id).catch((error: unknown) => {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
        return this.fill(id);
      });
      await syncDirectory(this.place);
    });
  }

  protected read(): Promise<string | undefined> {
    return this.explained(async () => {
      try {
        return (await readFile(this.path, 'utf8')).trim();
      } catch (error) {
        if (['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return undefined;
        throw error;
      }
    });
  }

  /**
   * Waits for another process that may be writing an empty file. If the file stays empty, the last process to write it gets the
   * place.
   */
  private async fill(id: string): Promise<void> {
    for (let looks = 0; looks < LOOKS; looks++) {
      if (await this.read()) return;
      await SETTLING.wait(LOOK_MS);
    }
    await this.replace(id);
    await SETTLING.wait();
  }

  private get path(): string {
    return join(this.place, MARK);
  }

  private async write(path: string, id: string): Promise<void> {
    await writeDurably(path, [`${id}\n`], await intendedOwnerOf(this.place));
  }

  private async explained<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (error instanceof OperatorError) throw error;
      throw unusableDirectory(this.place, error);
    }
  }
}

export function unusableDirectory(path: string, error: unknown): OperatorError {
  const code = (error as NodeJS.ErrnoException).code ?? 'unknown error';
  const sentence = `BACKUP_DIR ${path} cannot be used (${code}); it must be a directory that the service can write.`;
  return new OperatorError(sentence, { cause: error });
}

/** Opens the mark of a place, a directory or `s3://bucket/prefix`, for `work`. */
export const withMark = <T>(
  place: string,
  { backupStore }: Configuration,
  work: (mark: PlaceMark) => Promise<T>,
): Promise<T> =>
  withObjects(place, backupStore, (objects) =>
    work(objects ? new BucketMark(place, objects) : new DirectoryMark(place)),
  );

/**
 * Separates services that are configured with the same place for their backups. A place belongs to one database; another
 * database, such as a restored copy with the settings of the original, writes and removes nothing there.
 */
@Injectable()
export class BackupPlaces {
  constructor(
    private readonly identity: DatabaseIdentity,
    private readonly runs: JobRuns,
    private readonly clock: Clock,
    private readonly configuration: Configuration,
  ) {}

  /**
   * Makes BACKUP_DIR this database's before anything else is changed there. The caller must hold the lock of the backups.
   * @param adopt whether to take it over from another database
   * @returns the id by which `target.mark` knows this database
   * @throws OperatorError when it belongs to another database
   */
  async claim(target: BackupTarget, adopt: boolean): Promise<string> {
    const id = await this.identity.id();
    const { mark } = target;
    await mark.prepare();
    if (adopt) await mark.replace(id);
    else if (await mark.isAbsent()) {
      await this.refuseForeignBackups(target, id);
      await mark.make(id);
    }
    await mark.expect(id);
    return id;
  }

  /**
   * For a backup by hand at `place`: the directory or prefix above it must not be another database's place. One that this process
   * may not read counts as unmarked.
   * @throws OperatorError
   */
  async expectOwnAbove(place: string, adopt: boolean): Promise<void> {
    const above = isInS3(place) ? place.replace(/\/[^/]*\/?$/, '') : dirname(place);
    if (above === 's3:/') return;
    const id = await this.identity.id();
    await withMark(above, this.configuration, async (mark) => {
      if (!(await mark.isSeen())) return;
      if (adopt) await mark.replace(id);
      await mark.expect(id);
    });
  }

  /**
   * The backups in this database's place that are not its own, such as those of a lost database from which the place was taken
   * over. Backups without an id are its own unless the place has a backup of another database; then all of them may be of that
   * one.
   * @returns their names
   */
  async othersIn(target: BackupTarget, id: string): Promise<Names> {
    const listed = (await target.list()).filter(({ state }) => state !== 'by hand' && state !== 'partial');
    const hasForeign = (await this.foreignIn(listed, id, false)) !== undefined;
    const isOther = ({ manifest }: ListedBackup): boolean =>
      manifest?.database === undefined ? hasForeign : manifest.database !== id;
    return new Set(listed.filter(isOther).map(({ name }) => name));
  }

  /** Earlier versions wrote no mark; their backups are recognised by the manifest, or by the runs of this database. */
  private async refuseForeignBackups(target: BackupTarget, id: string): Promise<void> {
    const foreign = await this.foreignIn(await target.list(), id, true);
    if (foreign) throw foreignPlace(target.path, foreign);
  }

  /** @param mayBeForgotten see `runsByTime` @returns what in the place belongs to another database; undefined for nothing */
  private async foreignIn(
    listed: readonly ListedBackup[],
    id: string,
    mayBeForgotten: boolean,
  ): Promise<string | undefined> {
    const own = listed.filter(({ state, manifest }) => manifest && state !== 'by hand');
    const named = own.find(({ manifest }) => (manifest?.database ?? id) !== id);
    if (named) return `has a backup of another database (${named.name})`;
    const unmarked = own.filter(({ state, manifest }) => state === 'verified' && !manifest?.database);
    const runs = await this.runsByTime(mayBeForgotten);
    const timeOf = ({ name }: ListedBackup): number => parsed(name)?.time ?? 0;
    const lastGood = Math.max(...unmarked.map(timeOf).filter((time) => runs.isGood(time)));
    for (const backup of unmarked) {
      const time = timeOf(backup);
      if (runs.isGood(time)) continue;
      if (!runs.isUnclean(time)) return `has a backup of another database (${backup.name})`;
      if (time > lastGood)
        return `has a backup of another database (${backup.name}), or of a run of this one that was killed or failed after it`;
    }
    return undefined;
  }

  /**
   * Whether this database may have made the verified backup of a time. A restored copy has the rows of the original's runs up to
   * its backup, and the row of that backup has no end: such a row counts as this database's only when a later unmarked backup in
   * the place is its own. Nothing is known of times whose rows may have been deleted.
   */
  private async runsByTime(
    mayBeForgotten: boolean,
  ): Promise<Record<'isGood' | 'isUnclean', (time: number) => boolean>> {
    const runs = await this.runs.last(BACKUP_JOB, this.clock.now(), KEPT_RUNS);
    const spans = runs.map(({ startedAt, endedAt, error }, n) => ({
      from: startedAt.getTime(),
      to: (endedAt ?? runs[n - 1]?.startedAt)?.getTime() ?? 0, // without a later run, it is still running
      isClean: endedAt !== null && error === null,
    }));
    const good = spans.filter(({ isClean }) => isClean);
    const hasForgotten = mayBeForgotten && runs.length >= KEPT_RUNS && good.length > 0;
    const first = Math.min(...good.map(({ from }) => from));
    const isIn = (some: typeof spans, time: number): boolean =>
      some.some(({ from, to }) => from <= time && time <= to);
    return {
      isGood: (time) => (hasForgotten && time < first) || isIn(good, time),
      isUnclean: (time) => isIn(spans, time),
    };
  }
}
