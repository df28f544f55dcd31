import { Injectable, Module } from '@nestjs/common';
import { inTime } from './clock.js';
import { SchemaCheck, type SchemaState } from './database/index.js';
import { Shutdown } from './http/index.js';
import { Log } from './log.js';
import { Metrics } from './metrics.js';
import { StoreCheck } from './storage/index.js';

/** Keeps the answer within 2 s, even if a dependency hangs. */
const LOOK_WITHIN_MS = 1_700;

/** The check is public, so it queries the dependencies at most once a second. */
const FRESH_FOR_MS = 1_000;

export interface Readiness {
  readonly ready: boolean;
  readonly database: 'ok' | 'away';
  readonly blobs: 'ok' | 'away';
  /** `unknown` while the database is unavailable; `ahead` also counts as ready. */
  readonly migrations: SchemaState | 'unknown';
}

/** Whether this instance can serve requests. */
@Injectable()
export class ReadinessCheck {
  private last: { readonly at: number; readonly state: Promise<Readiness> } | undefined;

  constructor(
    private readonly schema: SchemaCheck,
    private readonly store: StoreCheck,
    private readonly shutdown: Shutdown,
    private readonly log: Log,
    metrics: Metrics,
  ) {
    metrics.gauge(
      'cloud_sync_ready',
      '1 if ready, else 0, for the service and each dependency',
      ['part'],
      async () => {
        const { ready, database, blobs } = await this.look();
        return Object.entries({ all: ready, database: database === 'ok', blobs: blobs === 'ok' }).map(
          ([part, isOk]) => ({ labels: { part }, value: Number(isOk) }),
        );
      },
    );
  }

  async look(): Promise<Readiness> {
    const now = performance.now();
    if (!this.last || now - this.last.at >= FRESH_FOR_MS) this.last = { at: now, state: this.check() };
    const state = await this.last.state;
    return this.shutdown.isUnderWay ? { ...state, ready: false } : state;
  }

  private async check(): Promise<Readiness> {
    const [migrations, blobs] = await Promise.all([
      this.answered('the database', () => this.schema.look()),
      this.answered('the blob store', () => this.store.look().then(() => 'ok' as const)),
    ]);
    return {
      ready: (migrations === 'ok' || migrations === 'ahead') && blobs === 'ok',
      database: migrations === undefined ? 'away' : 'ok',
      blobs: blobs ?? 'away',
      migrations: migrations ?? 'unknown',
    };
  }

  private async answered<T>(what: string, look: () => Promise<T>): Promise<T | undefined> {
    try {
      const tooLate = (): Error => new Error(`no answer in ${LOOK_WITHIN_MS} ms`);
      return await inTime(LOOK_WITHIN_MS, look(), tooLate);
    } catch (err) {
      this.log.warn({ err }, `not ready: ${what} does not answer`);
      return undefined;
    }
  }
}

@Module({ providers: [ReadinessCheck], exports: [ReadinessCheck] })
export class ReadinessModule {}
