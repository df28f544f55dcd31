import { DiskError, RemoteUnavailable, WrongFolder } from './errors.js';
import { lookClosely, recogniseSent } from './look.js';
import type { Traits } from './names.js';
import type { Plan } from './operations.js';
import { massDeletion, plan } from './plan.js';
import type { StateFile } from './ports.js';
import { followLog } from './remote-log.js';
import { Report } from './report.js';
import { readRules } from './read-rules.js';
import type { Rules } from './rules.js';
import { type PastFiles, type Restored, Restoring } from './restoring.js';
import type { RestoreRecord } from './restore-record.js';
import { Memory, type Parts, Run, type SyncOptions } from './run.js';
import { scan } from './scan.js';
import { Session } from './session.js';
import { FolderState } from './state.js';
import { type Planned, Syncing } from './syncing.js';

export interface Opening {
  readonly parts: Parts;
  readonly stateFile: StateFile;
  readonly workspace: string;
  readonly options: SyncOptions;
}

/** A folder that syncs with a workspace. Run only one sync at a time. */
export class FolderSync {
  private constructor(
    private readonly parts: Parts,
    private readonly options: SyncOptions,
    private readonly state: FolderState,
    private readonly session: Session,
    private readonly traits: Traits,
  ) {}

  /** @throws WrongFolder when the state belongs to another folder */
  static async open({ parts, stateFile, workspace, options }: Opening): Promise<FolderSync> {
    const state = await FolderState.open(stateFile);
    const session = await Session.open(parts.disk, state, parts.random, workspace);
    await parts.disk.clearStaging();
    return new FolderSync(parts, options, state, session, await parts.disk.traits());
  }

  /** Identifies this session to the server; no copy of folder and state has the same stamp. */
  get stamp(): string {
    return this.session.stamp;
  }

  /** The position of this folder in the change log. */
  get cursor(): number {
    return this.state.cursor ?? 0;
  }

  /** Returns what a sync would do now. Changes nothing but the device's state. */
  async preview(): Promise<Plan> {
    return (await this.planned(new Report())).plan;
  }

  /** Makes folder and server agree as far as possible. The report names what is left. */
  async sync(): Promise<Report> {
    const report = new Report();
    try {
      await new Syncing(this.parts, this.options, this.state, this.session, this.traits, report, (into) =>
        this.planned(into),
      ).rounds();
      await this.state.compact();
    } catch (error) {
      stop(report, error);
    }
    await this.state.sync().catch((error: unknown) => stop(report, error));
    report.files = this.state.synced.size;
    return report;
  }

  /**
   * Restores earlier contents, after a sync; the next sync uploads them. When repeated after a crash, does only the
   * remaining files. Asks before it removes many files. @throws RemoteUnavailable, WrongFolder, DiskError
   */
  async restore(past: PastFiles, record: RestoreRecord): Promise<{ restored: Restored; report: Report }> {
    const { parts, options, state, session, traits } = this;
    const report = new Report();
    const rules = await this.rules();
    const look = async (): Promise<Run> => {
      const { local } = await this.planned(report);
      return new Run(parts, options, state, session, report, traits, local, new Memory());
    };
    const run = await look();
    const restoring = new Restoring(run, rules, record);
    const isAllowed = await this.mayRemove(past.absent.filter((path) => run.local.files.has(path)));
    if (isAllowed) await restoring.remove(past.absent);
    else report.refused.push('here');
    if (isAllowed) await restoring.write(past.absent.length > 0 ? await look() : run, past);
    return { restored: restoring.restored, report };
  }

  private async mayRemove(paths: readonly string[]): Promise<boolean> {
    const deletions = massDeletion('here', paths, this.state.synced.size);
    return !deletions || (await this.options.confirm?.(deletions)) === true;
  }

  private async planned(report: Report): Promise<Planned> {
    const { parts, state, session, options, traits } = this;
    await session.check();
    const rules = await this.rules();
    const seen = await scan(parts.disk, rules);
    if (await followLog(parts.remote, parts.cipher, state)) report.beganAnew = true;
    recogniseSent(state);
    const local = await lookClosely(parts, state, seen);
    const { maxFileBytes } = options;
    const leftOut = (path: string): ReturnType<Rules['leftOut']> => rules.leftOut(path);
    return { local, plan: plan(local, state.remote, state.synced, { traits, maxFileBytes, leftOut }) };
  }

  private rules(): Promise<Rules> {
    return readRules(this.parts.disk, this.parts.clock, this.options);
  }
}

/** @throws errors that are neither the server's nor the disk's */
function stop(report: Report, error: unknown): void {
  const isKnown = [RemoteUnavailable, WrongFolder, DiskError].some((known) => error instanceof known);
  if (!isKnown) throw error;
  if (report.stopped !== undefined) return; // the first reason counts
  report.stopped = (error as Error).message;
  report.cause = error;
}
