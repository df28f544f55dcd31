import { Global, Module } from '@nestjs/common';
import { Configuration } from '../config/index.js';
import { Log } from '../log/index.js';
import { Metrics } from './metrics.js';
import { MetricsServer } from './metrics-server.js';

@Global()
@Module({
  providers: [
    {
      provide: Metrics,
      inject: [Configuration, Log],
      useFactory: async ({ metricsPort }: Configuration, log: Log) =>
        // Loaded only if enabled: a service without monitoring does not need it.
        new Metrics(log, metricsPort === undefined ? undefined : await import('prom-client')),
    },
    MetricsServer,
  ],
  exports: [Metrics, MetricsServer],
})
export class MetricsModule {}
