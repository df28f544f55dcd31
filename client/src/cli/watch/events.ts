import type { MassDeletion } from '../../folder/index.js';
import type { ExitCode } from '../exit-codes.js';
import { questionOf } from '../mass-deletion.js';
import type { Output } from '../output.js';
import { linesOf, type SyncDocument } from '../sync-report.js';
import type { Reason } from './trigger.js';

interface EventFacts {
  readonly event: string;
  readonly [fact: string]: unknown;
}

/** Prints the events of `watch`: text on a terminal, JSON lines otherwise. */
export class WatchEvents {
  private quiet = '';
  private lastProgress = -Infinity;
  private isConnected: boolean | undefined;

  constructor(
    private readonly output: Output,
    private readonly clock: () => Date = () => new Date(),
  ) {}

  started(folder: string, workspace: string, device: string): void {
    this.tell({ event: 'started', folder, workspace, device, pid: process.pid }, [`watching ${folder}`]);
  }

  watching(): void {
    this.tell({ event: 'watching' }, []);
  }

  /** Prints changes only. */
  connected(isConnected: boolean): void {
    if (this.isConnected === isConnected) return;
    this.isConnected = isConnected;
    this.tell({ event: isConnected ? 'connected' : 'disconnected' }, [
      isConnected ? 'connected to the service' : 'no connection to the service',
    ]);
  }

  /** At most one JSON line a second, so that a log does not get one per file. */
  progress(doing: string, path: string): void {
    if (!this.isJson) {
      this.output.progress(`${doing} ${path}`);
      return;
    }
    const now = performance.now();
    if (now - this.lastProgress < 1_000) return;
    this.lastProgress = now;
    this.tell({ event: 'progress', doing, path }, []);
  }

  /** On a terminal, skips a result that is the same as the last one. */
  synced(reasons: readonly Reason[], document: SyncDocument): void {
    const lines = linesOf(document);
    const text = lines.join('\n');
    const isNews = text !== this.quiet;
    this.quiet = text;
    this.tell({ event: 'synced', reasons, ...document }, isNews ? lines : []);
  }

  stopped(reasons: readonly Reason[], document: SyncDocument, retryInMs: number): void {
    const seconds = Math.ceil(retryInMs / 1_000);
    this.tell({ event: 'stopped', reasons, ...document, retryInMs: Math.round(retryInMs) }, [
      `stopped: ${document.stopped ?? ''}; again in ${seconds} s`,
    ]);
  }

  confirmationNeeded(deletions: MassDeletion): void {
    const { direction, paths, of } = deletions;
    this.tell({ event: 'confirmation-needed', direction, count: paths.length, of }, [
      `not confirmed: ${questionOf(deletions)} Stop this, and run \`cloud-sync sync\` to decide.`,
    ]);
  }

  problem(message: string): void {
    this.tell({ event: 'problem', message }, [message]);
  }

  ended(reason: string, exitCode: ExitCode): void {
    this.tell({ event: 'ended', reason, exitCode }, [`ended: ${reason}`]);
  }

  private get isJson(): boolean {
    return this.output.isJson || !this.output.isTerminal;
  }

  private get at(): string {
    return this.clock().toISOString();
  }

  private tell({ event, ...facts }: EventFacts, lines: readonly string[]): void {
    if (this.isJson) this.output.line({ event, at: this.at, ...facts });
    else for (const line of lines) this.output.text(`${this.clock().toLocaleTimeString()}  ${line}`);
  }
}
