import { Injectable } from '@nestjs/common';
import { dirname } from 'node:path';
import { Configuration, isInS3 } from '../config/index.js';
import { Clock } from '../platform/clock/index.js';
import { JobRuns, KEPT_RUNS } from '../platform/jobs/index.js';
import { parsed } from './backup-names.js';
import type { BackupTarget, ListedBackup } from './backup-target.js';
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
   * For a backup by hand at `place`: the directory or prefix above it must not be another database's place.
   * @throws OperatorError
   */
  async expectOwnAbove(place: string, adopt: boolean): Promise<void> {
    const above = isInS3(place) ? place.replace(/\/[^/]*\/?$/, '') : dirname(place);
    if (above === 's3:/') return;
    const id = await this.identity.id();
    await withMark(above, this.configuration, async (mark) => {
      if (adopt && !(await mark.isAbsent())) await mark.replace(id);
      await mark.refuseForeign(id);
    });
  }

  /** Earlier versions have marked nothing: what they have left is recognised by its manifest, or by the runs of this database. */
  private async refuseForeignBackups(target: BackupTarget, id: string): Promise<void> {
    const isOfRun = await this.runsByTime();
    const isForeign = ({ name, state, manifest }: ListedBackup): boolean => {
      if (!manifest || state === 'by hand') return false;
      if (manifest.database !== undefined) return manifest.database !== id;
      return state === 'verified' && !isOfRun(parsed(name)?.time ?? 0);
    };
    const foreign = (await target.list()).find(isForeign);
    if (foreign) throw foreignPlace(target.path, `has a backup of another database (${foreign.name})`);
  }

  /**
   * Whether a verified backup of that time may be of this database. A restored copy has the rows of the original's runs up to its
   * backup, whose own row has no end. Nothing is known of times whose rows may have been forgotten.
   */
  private async runsByTime(): Promise<(time: number) => boolean> {
    const runs = await this.runs.last(BACKUP_JOB, this.clock.now(), KEPT_RUNS);
    const good = runs.flatMap(({ startedAt, endedAt, error }) =>
      endedAt !== null && error === null ? [{ from: startedAt.getTime(), to: endedAt.getTime() }] : [],
    );
    const hasForgotten = runs.length >= KEPT_RUNS && good.length > 0;
    const first = Math.min(...good.map(({ from }) => from));
    return (time) =>
      (hasForgotten && time < first) || good.some(({ from, to }) => from <= time && time <= to);
  }
}
