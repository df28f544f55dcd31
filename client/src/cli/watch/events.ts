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

/** What `watch` tells: lines for people on a terminal, JSON lines elsewhere. */
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

  /** Told when it changes. */
  connected(isConnected: boolean): void {
    if (this.isConnected === isConnected) return;
    this.isConnected = isConnected;
    this.tell({ event: isConnected ? 'connected' : 'disconnected' }, [
      isConnected ? 'connected to the service' : 'no connection to the service',
    ]);
  }

  /** At most one line a second: a log would have one for each file. */
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

  /** A sync that changed nothing and says what the last one said is not told to people. */
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
