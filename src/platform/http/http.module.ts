import { type DynamicModule, Module } from '@nestjs/common';
import { APP_FILTER } from '@nestjs/core';
import { ErrorFilter } from './error-filter.js';
import { InFlightRequests } from './in-flight.js';
import { Overload } from './overload.js';
import { QueryTextGuard } from './query-text.guard.js';
import { RequestMetrics } from './request-metrics.js';
import { Shutdown } from './shutdown.js';

/** Common parts of all routes: flat errors, a limit on concurrent requests, and time to finish at shutdown. */
@Module({})
export class HttpModule {
  static with(inFlight: InFlightRequests): DynamicModule {
    return {
      module: HttpModule,
      global: true,
      providers: [
        { provide: InFlightRequests, useValue: inFlight },
        Overload,
        QueryTextGuard,
        RequestMetrics,
        Shutdown,
        { provide: APP_FILTER, useClass: ErrorFilter },
      ],
      exports: [InFlightRequests, Overload, QueryTextGuard, Shutdown],
    };
  }
}
