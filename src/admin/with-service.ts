import 'reflect-metadata';
import type { INestApplicationContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { AppModule } from '../app.module.js';
import { type Configuration, configurationOfProcess } from '../config/index.js';
import { Clock } from '../platform/clock/index.js';
import { runningServerUrl } from '../platform/database/index.js';
import { InFlightRequests } from '../platform/http/index.js';
import { Background } from '../platform/jobs/index.js';
import { createLogger, Log, NestLog } from '../platform/log/index.js';

/**
 * Runs `work` with the service's own modules, without listening and without what a service does by itself. When a
 * service runs on the same DATA_DIR, its embedded database is used as it is; otherwise the database is started, and
 * stopped afterwards. Danger: a start that fails leaves open what it had opened; the caller ends the process.
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
    return await work(service);
  } finally {
    await service.close();
  }
}
