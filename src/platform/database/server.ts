import type { FactoryProvider } from '@nestjs/common';
import { Configuration } from '../../config/index.js';
import { Log } from '../log/index.js';
import { type ConnectionTarget, lockDataDirectory, startEmbeddedPostgres } from './embedded/index.js';

export const EMBEDDED_SERVER = Symbol('EMBEDDED_SERVER');

/** Where PostgreSQL is, and how to end it if it is ours. */
export interface Server {
  readonly target: string | ConnectionTarget;
  stop(): Promise<void>;
}

export const provideServer: FactoryProvider<Server> = {
  provide: EMBEDDED_SERVER,
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
