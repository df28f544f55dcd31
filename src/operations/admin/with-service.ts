import type { INestApplicationContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import 'reflect-metadata';
import { AppModule } from '../../app.module.js';
import { type UserEntity, Users } from '../../domain/auth/index.js';
import { type Configuration, configurationOfProcess, OperatorError } from '../../platform/config/index.js';
import { Clock } from '../../platform/clock/index.js';
import { runningServerUrl } from '../../platform/database/index.js';
import { InFlightRequests, NotFound } from '../../platform/http/index.js';
import { Background } from '../../platform/jobs/index.js';
import { createLogger, Log, NestLog } from '../../platform/log/index.js';
import { StoreUnavailable } from '../../platform/storage/index.js';

/**
 * Runs `work` with the service's own modules, without listening and without background work. When a service runs on the same
 * DATA_DIR, uses its embedded database; otherwise starts the database, and stops it afterwards. Danger: a failed start leaves
 * open whatever it has opened; the caller must end the process. A store is opened when `work` uses it.
 * @throws OperatorError when a store that it uses fails
 */
export async function withService<T>(
  work: (service: INestApplicationContext) => Promise<T>,
  configuration: Configuration = configurationOfProcess(),
): Promise<T> {
  configuration.databaseUrl ??= await runningServerUrl(configuration.dataDir);
  const log = new Log(createLogger('error', process.stderr));
  const service = await NestFactory.createApplicationContext(
    AppModule.with({
      configuration,
      log,
      clock: new Clock(),
      inFlight: new InFlightRequests(),
      background: new Background(false),
    }),
    {
      logger: new NestLog(log.pino),
      abortOnError: false,
    },
  );
  try {
    return await withStores(() => work(service));
  } finally {
    await service.close();
  }
}

/** The account that a command acts on. @throws NotFound */
export async function accountOf(service: INestApplicationContext, email: string): Promise<UserEntity> {
  const user = await service.get(Users).findByEmail(email);
  if (!user) throw new NotFound(`there is no account for ${email}`);
  return user;
}

/** Reports a store failure as a message without a stack trace. @throws OperatorError */
async function withStores<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error;
    if (error.cause instanceof OperatorError) throw error.cause;
    throw new OperatorError(`A blob store failed: ${error.message}.`, { cause: error });
  }
}
