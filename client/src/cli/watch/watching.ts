import type { LiveRoomClosed } from '../../core/index.js';
import {
  deviceId,
  DiskError,
  NodeDisk,
  readRules,
  Report,
  systemClock,
  WrongFolder,
} from '../../folder/index.js';
import { EXIT, type ExitCode } from '../exit-codes.js';
import { type EngineParts, openEngine, type OpenEngine } from '../sync-engine.js';
import { documentOf, keepReport } from '../sync-report.js';
import { Backoff } from './backoff.js';
import type { WatchEvents } from './events.js';
import { FileEvents } from './file-events.js';
import { Room } from './room.js';
import { type Reason, Trigger } from './trigger.js';
import { onWake } from './wake.js';

/** Why watching ended. */
interface End {
  readonly reason: string;
  readonly exitCode: ExitCode;
}

/** Keeps a folder in sync until it is ended, using file events, the live room and periodic scans. */
export class Watching {
  private readonly trigger = new Trigger();
  private readonly backoff = new Backoff();
  private readonly ending = new AbortController();
  private readonly files: FileEvents;
  private room: Room | undefined;
  private engine: OpenEngine | undefined;
  private retry: ReturnType<typeof setTimeout> | undefined;
  private end: End = { reason: 'signal', exitCode: EXIT.ok };
  private wasAway = false;

  constructor(
    private readonly parts: EngineParts,
    private readonly events: WatchEvents,
    private readonly intervalMs: number,
  ) {
    const { folder, settings, signal } = parts;
    this.files = new FileEvents({
      root: folder.root,
      // The sync reports what is wrong with the rules.
      rules: () => readRules(new NodeDisk(folder.root), systemClock, settings).catch(() => undefined),
      onChange: () => this.trigger.fire('files'),
      onProblem: (message) => this.events.problem(message),
    });
    signal.addEventListener('abort', () => this.ending.abort());
  }

  async run(): Promise<ExitCode> {
    const { root, settings } = this.parts.folder;
    this.events.started(root, settings.workspace, settings.device);
    const interval = setInterval(() => this.trigger.fire('interval'), this.intervalMs);
    const stopWake = onWake(() => this.wake());
    try {
      await this.files.start(); // before the first scan, so that no change between the two is missed
      this.events.watching();
      this.trigger.fire('start');
      await this.loop();
    } finally {
      clearInterval(interval);
      clearTimeout(this.retry);
      stopWake();
      await Promise.all([this.files.close(), this.room?.close(), this.engine?.close()]);
    }
    this.events.ended(this.end.reason, this.end.exitCode);
    return this.end.exitCode;
  }

  private async loop(): Promise<void> {
    for (let isPaused = false; ;) {
      const reasons = await this.trigger.next(isPaused, this.ending.signal);
      if (reasons.length === 0) return;
      clearTimeout(this.retry);
      isPaused = await this.sync(reasons);
    }
  }

  /** @returns whether it failed, so that the next one waits */
  private async sync(reasons: readonly Reason[]): Promise<boolean> {
    const report = await this.attempt();
    const document = documentOf(this.parts.folder.root, report);
    const problem = await keepReport(this.parts.folder, document);
    if (problem !== undefined) this.events.problem(problem);
    if (report.stopped === undefined) {
      this.events.synced(reasons, document);
      if (this.wasAway) await this.files.restart();
      this.wasAway = false;
      if (report.unsettled.length > 0) this.retryIn(this.backoff.nextMs());
      else this.backoff.reset();
      return false;
    }
    if (this.ending.signal.aborted) return false;
    if (document.exitCode === EXIT.signInNeeded) return this.finish(report.stopped, document.exitCode);
    const retryInMs = this.backoff.nextMs();
    this.events.stopped(reasons, document, retryInMs);
    if (isOfTheFolder(report.cause)) await this.closeEngine();
    this.retryIn(retryInMs);
    return true;
  }

  private async attempt(): Promise<Report> {
    try {
      const { sync } = await this.open();
      return await sync.sync();
    } catch (error) {
      if (!isOfTheFolder(error)) throw error;
      const report = new Report();
      [report.stopped, report.cause] = [error.message, error];
      return report;
    }
  }

  private async open(): Promise<OpenEngine> {
    const { session, settings } = this.parts;
    const engine = (this.engine ??= await openEngine(this.parts));
    this.room ??= new Room({
      ...{ session, workspaceId: settings.workspace },
      deviceId: deviceId(settings.device, engine.sync.stamp),
      cursor: () => this.engine?.sync.cursor ?? 0,
      onNews: () => this.trigger.fire('server'),
      onConnected: (isConnected) => this.whenConnected(isConnected),
      onEnd: (error) => this.whenRoomEnds(error),
    });
    return engine;
  }

  /** Reopened later, after the folder was unmounted, replaced or synced by another program. */
  private async closeEngine(): Promise<void> {
    this.wasAway = true;
    await this.engine?.close();
    this.engine = undefined;
  }

  private whenConnected(isConnected: boolean): void {
    this.events.connected(isConnected);
    if (isConnected) this.trigger.fire('connected');
  }

  private whenRoomEnds({ reason, message }: LiveRoomClosed): void {
    if (reason === 'signed out') this.finish(message, EXIT.signInNeeded);
    else if (reason === 'workspace deleted') this.finish(message, EXIT.failed);
    else this.events.problem(message);
  }

  private wake(): void {
    this.room?.wake();
    this.trigger.fire('wake');
  }

  private retryIn(ms: number): void {
    this.retry = setTimeout(() => this.trigger.fire('retry'), ms);
  }

  private finish(reason: string, exitCode: ExitCode): false {
    this.end = { reason, exitCode };
    this.ending.abort();
    return false;
  }
}

const isOfTheFolder = (error: unknown): error is WrongFolder | DiskError =>
  error instanceof WrongFolder || error instanceof DiskError;
