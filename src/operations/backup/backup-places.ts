import { Injectable } from '@nestjs/common';
import { dirname } from 'node:path';
import { Configuration, isInS3 } from '../../platform/config/index.js';
import { Clock } from '../../platform/clock/index.js';
import { JobRuns, KEPT_RUNS } from '../../platform/jobs/index.js';
import { parsed } from './backup-names.js';
import type { BackupTarget, ListedBackup, Names } from './backup-target.js';
import { BACKUP_JOB } from './backup-times.js';
import { DatabaseIdentity } from './database-identity.js';
import { foreignPlace } from './place-mark.js';
import { withMark } from './with-mark.js';

/**
 * Keeps services apart that were given the same place for their backups: a place belongs to one database, and another one, such as
 * a restored copy with the settings of the original, writes and removes nothing there.
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
   * may not look into counts as nobody's.
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
   * The backups in the place of this database that are not its own, such as those of a lost one from which it was taken over. Those
   * without an id are its own when the place would be its own by them; otherwise they may all be of the other one.
   * @returns their names
   */
  async othersIn(target: BackupTarget, id: string): Promise<Names> {
    const listed = (await target.list()).filter(({ state }) => state !== 'by hand' && state !== 'partial');
    const hasForeign = (await this.foreignIn(listed, id, false)) !== undefined;
    const isOther = ({ manifest }: ListedBackup): boolean =>
      manifest?.database === undefined ? hasForeign : manifest.database !== id;
    return new Set(listed.filter(isOther).map(({ name }) => name));
  }

  /** Earlier versions have marked nothing: what they have left is recognised by its manifest, or by the runs of this database. */
  private async refuseForeignBackups(target: BackupTarget, id: string): Promise<void> {
    const foreign = await this.foreignIn(await target.list(), id, true);
    if (foreign) throw foreignPlace(target.path, foreign);
  }

  /** @param mayBeForgotten see `runsByTime` @returns what the place has of another database; undefined when it has nothing */
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
   * Whether a verified backup of that time may be of this database. A restored copy has the rows of the original's runs up to its
   * backup, whose own row has no end: that row is of this database only where it has made a later one there, equally unmarked.
   * Nothing is known of times whose rows may have been forgotten.
   */
  private async runsByTime(
    mayBeForgotten: boolean,
  ): Promise<Record<'isGood' | 'isUnclean', (time: number) => boolean>> {
    const runs = await this.runs.last(BACKUP_JOB, this.clock.now(), KEPT_RUNS);
    const spans = runs.map(({ startedAt, endedAt, error }, n) => ({
      from: startedAt.getTime(),
      to: (endedAt ?? runs[n - 1]?.startedAt)?.getTime() ?? 0, // one without a later one is under way
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
