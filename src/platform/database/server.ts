import type { FactoryProvider } from '@nestjs/common';
import { Configuration } from '../../config/index.js';
import { Log } from '../log/index.js';
import {
  type ConnectionTarget,
  lockDataDirectory,
  runningEmbeddedPostgres,
  startEmbeddedPostgres,
} from './embedded/index.js';

export const DATABASE_SERVER = Symbol('DATABASE_SERVER');

/** Where PostgreSQL is, and how to end it if it is ours. */
export interface Server {
  readonly target: string | ConnectionTarget;
  stop(): Promise<void>;
}

export const provideServer: FactoryProvider<Server> = {
  provide: DATABASE_SERVER,
  inject: [Configuration, Log],
  useFactory: async ({ databaseUrl, dataDir }: Configuration, log: Log) => {
    if (databaseUrl) return { target: databaseUrl, stop: () => Promise.resolve() };

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
      return { target: embedded.target, stop };
    } catch (error) {
      await lock.release();
      throw error;
    }
  },
};

/** A DATABASE_URL for the embedded server that a running service keeps under DATA_DIR; undefined when none runs. */
export async function runningServerUrl(dataDir: string): Promise<string | undefined> {
  const target = await runningEmbeddedPostgres(dataDir);
  if (!target) return undefined;
  const { user, password, host, port, database } = target;
  return `postgres://${user}:${encodeURIComponent(password)}@localhost:${port}/${database}?host=${encodeURIComponent(host)}`;
}
