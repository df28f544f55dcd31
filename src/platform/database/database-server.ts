import type { FactoryProvider } from '@nestjs/common';
import { availableParallelism } from 'node:os';
import { Configuration } from '../../config/index.js';
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
 * Beside the service more statements at once only take the processors from each other, each with the memory of a
 * connection (ADR 24). One more than there are: one waits for the disk.
 */
const statementsAtOnce = availableParallelism() + 1;

/** Where PostgreSQL is, and how to end it if it is ours. */
export interface Server {
  readonly target: string | ConnectionTarget;
  /** How many it has a use for; Infinity where only the operator knows, who sets the pool. */
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
