import 'reflect-metadata';
import type { INestApplicationContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { AppModule } from '../app.module.js';
import { configurationOfProcess } from '../config/index.js';
import { Clock } from '../platform/clock/index.js';
import { runningServerUrl } from '../platform/database/index.js';
import { InFlightRequests } from '../platform/http/index.js';
import { createLogger, Log, NestLog } from '../platform/log/index.js';

/**
 * Runs `work` with the service's own modules, without listening. When a service runs on the same DATA_DIR, its
 * embedded database is used as it is; otherwise the database is started, and stopped afterwards.
 */
export async function withService<T>(work: (service: INestApplicationContext) => Promise<T>): Promise<T> {
  const configuration = configurationOfProcess();
  configuration.databaseUrl ??= await runningServerUrl(configuration.dataDir);
  const log = new Log(createLogger('error', process.stderr));
  const service = await NestFactory.createApplicationContext(
    AppModule.with({ configuration, log, clock: new Clock(), inFlight: new InFlightRequests() }),
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
