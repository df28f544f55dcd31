import type { FactoryProvider } from '@nestjs/common';
import { availableParallelism } from 'node:os';
import { Configuration } from '../config/index.js';
import { Log } from '../log/index.js';
import {
  type ConnectionTarget,
  lockDataDirectory,
  runningEmbeddedPostgres,
  startEmbeddedPostgres,
  urlOf,
} from './embedded/index.js';

export const DATABASE_SERVER = Symbol('DATABASE_SERVER');

/**
 * When PostgreSQL shares the machine with the service, more concurrent statements only compete for the processors and cost the
 * memory of a connection each (ADR 24). One more than there are processors, because one waits for the disk.
 */
const statementsAtOnce = availableParallelism() + 1;

/** Where PostgreSQL is, and how to stop it if this process started it. */
export interface Server {
  readonly target: string | ConnectionTarget;
  /** The useful number of concurrent statements; Infinity where only the operator knows, who then sets the pool size. */
  readonly statementsAtOnce: number;
  stop(): Promise<void>;
}

export const provideServer: FactoryProvider<Server> = {
  provide: DATABASE_SERVER,
  inject: [Configuration, Log],
  useFactory: async ({ databaseUrl, dataDir }: Configuration, log: Log) => {
    if (databaseUrl)
      return { target: databaseUrl, statementsAtOnce: Infinity, stop: () => Promise.resolve() };

    const lock = await lockDataDirectory(dataDir);
    try {
      const embedded = await startEmbeddedPostgres({
        dataDir,
        log: ({ level, message, ...fields }) => log[level](fields, message),
        onFatal: (err) => {
          log.error({ err }, 'the embedded PostgreSQL cannot be kept running');
          process.exit(1);
        },
      });
      const stop = async (): Promise<void> => {
        await embedded.stop();
        await lock.release();
      };
      return { target: embedded.target, statementsAtOnce, stop };
    } catch (error) {
      await lock.release();
      throw error;
    }
  },
};

/** A DATABASE_URL for the embedded server that a running service keeps under DATA_DIR; undefined when none runs. */
export async function runningServerUrl(dataDir: string): Promise<string | undefined> {
  const target = await runningEmbeddedPostgres(dataDir);
  return target ? urlOf(target) : undefined;
}
