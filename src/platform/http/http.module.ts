import { type DynamicModule, Module } from '@nestjs/common';
import { APP_FILTER, APP_PIPE } from '@nestjs/core';
import { ErrorFilter } from './error-filter.js';
import { InFlightRequests } from './in-flight.js';
import { validation } from './validation.js';

/** What every route has: flat errors, validated input, and time to finish at shutdown. */
@Module({})
export class HttpModule {
  static with(inFlight: InFlightRequests): DynamicModule {
    return {
      module: HttpModule,
      providers: [
        { provide: InFlightRequests, useValue: inFlight },
        { provide: APP_PIPE, useValue: validation },
        { provide: APP_FILTER, useClass: ErrorFilter },
      ],
    };
  }
}
