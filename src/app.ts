import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { AppModule } from './app.module.js';
import { type PasswordCost, SigningKeys } from './domain/auth/index.js';
import { type Configuration, warningsAbout } from './platform/config/index.js';
import { Clock } from './platform/clock.js';
import {
  corsOptions,
  createAdapter,
  InFlightRequests,
  Overload,
  securityHeaders,
  clientAddress,
} from './platform/http/index.js';
import { KillSwitch } from './platform/kill-switch.js';
import { createLogger, Log, NestLog } from './platform/log.js';
import { MetricsServer } from './platform/metrics.js';
import type { Outbound } from './platform/outbound.js';
import { SocketAdapter } from './domain/realtime/index.js';

export interface AppOptions {
  readonly clock?: Clock;
  readonly log?: Log;
  readonly outbound?: Outbound | undefined;
  readonly passwordCost?: PasswordCost | undefined;
}

/** The complete service, ready to listen; used by `main` and by every test. Close it to release its resources. */
export async function createApp(
  configuration: Configuration,
  options: AppOptions = {},
): Promise<NestFastifyApplication> {
  const log = options.log ?? new Log(createLogger(configuration.logLevel));
  const clock = options.clock ?? new Clock();
  const inFlight = new InFlightRequests();
  for (const warning of warningsAbout(configuration)) log.warn({}, warning);
  const app = await NestFactory.create<NestFastifyApplication>(
    AppModule.with({
      configuration,
      log,
      clock,
      inFlight,
      outbound: options.outbound,
      passwordCost: options.passwordCost,
    }),
    createAdapter(log.pino, inFlight, {
      trustProxy: configuration.trustProxy,
      isHttps: configuration.isHttps,
      maxFileBytes: configuration.maxFileBytes,
      hasLimits: configuration.rateLimitPerMinute > 0,
    }),
    { bodyParser: false, logger: new NestLog(log.pino), abortOnError: false, forceCloseConnections: true },
  );
  const killSwitch = app.get(KillSwitch);
  const overload = app.get(Overload);
  const fastify = app.getHttpAdapter().getInstance();
  const headers = securityHeaders(configuration.isHttps);
  app.useWebSocketAdapter(
    new SocketAdapter(
      app,
      (request) => {
        const refusal =
          killSwitch.refusal('down') ?? overload.refusal(clientAddress(request, configuration.trustProxy));
        if (refusal) throw refusal;
      },
      headers,
    ),
  );
  app.enableCors(corsOptions(configuration.trustedOrigins));
  await orClose(app, async () => {
    await app.init();
    for (const refuses of [killSwitch, overload]) refuses.refuseRequestsOf(fastify); // after CORS, so that a page can read a refusal
    // Refuse to start rather than let people sign in and then fail to issue a token.
    await app.get(SigningKeys, { strict: false }).check();
    await fastify.ready();
    await app.get(MetricsServer).start();
  });
  return app;
}

async function orClose(app: NestFastifyApplication, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    await app.close().catch(() => undefined); // report the original error
    throw error;
  }
}
