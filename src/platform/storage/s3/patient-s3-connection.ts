import { setTimeout as pause } from 'node:timers/promises';
import type { S3Limits } from './bounded-request.js';
import { type S3Call, S3Connection } from './s3-connection.js';
import { S3Fault } from './s3-fault.js';

/** For work that nobody waits for. A part of 32 MiB may take five minutes. */
const LIMITS: S3Limits = {
  connectMs: 5_000,
  idleMs: 30_000,
  callMs: 300_000,
  cleanUpMs: 10_000,
  pauseMs: 500,
};

const LONGEST_PAUSE_MS = 15_000;

/** For how long a store may be away. Tests shorten it. */
export const PATIENCE = { ms: 180_000 };

/**
 * A connection whose every request may be repeated, and is, while a store that has answered before does not: a restart of the store
 * or a busy minute does not end hours of work. Its keys must be of one writer and one use.
 */
export class PatientS3Connection extends S3Connection {
  override readonly limits: S3Limits = { ...LIMITS };
  private readonly faults = new WeakSet();
  private hasAnswered = false;

  /** Whether an error is of this store, and not of what was to be stored. */
  isOwn(fault: S3Fault): boolean {
    return this.faults.has(fault);
  }

  override call<T>(work: S3Call<T>, ms?: number): Promise<T> {
    return ms === undefined ? this.retried(work) : this.attempt(work, ms);
  }

  override async retried<T>(work: S3Call<T>): Promise<T> {
    const end = performance.now() + PATIENCE.ms;
    for (let pauseMs = this.limits.pauseMs; ; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
      try {
        return await this.attempt(work, this.limits.callMs);
      } catch (error) {
        const isHopeless = !(error instanceof S3Fault) || !error.isCurable || !this.hasAnswered;
        if (isHopeless || performance.now() + pauseMs > end) throw error;
      }
      await pause(pauseMs);
    }
  }

  private async attempt<T>(work: S3Call<T>, ms: number): Promise<T> {
    try {
      const result = await this.once(work, ms);
      this.hasAnswered = true;
      return result;
    } catch (error) {
      if (error instanceof S3Fault) {
        this.faults.add(error);
        this.hasAnswered ||= !error.isCurable;
      }
      throw error;
    }
  }
}
