import { Global, Module } from '@nestjs/common';
import { APP_FILTER } from '@nestjs/core';
import { QueryTextGuard } from './adapter.js';
import { ErrorFilter } from './api-errors.js';
import { RequestMetrics } from './in-flight.js';
import { Overload, Shutdown } from './overload.js';

export { createAdapter, declared, notFoundIfPurged, QueryTextGuard } from './adapter.js';
export * from './api-errors.js';
export * from './body.js';
export { addressKey, clientAddress, networkKey } from './client-address.js';
export { CONNECTIONS_PER_ADDRESS } from './connections.js';
export { InFlightRequests } from './in-flight.js';
export * from './json-around-text.js';
export * from './json-response.js';
export { isHealth, Overload, Shutdown } from './overload.js';
export * from './place.js';

/** Common parts of all routes: flat errors, a limit on concurrent requests, and time to finish at shutdown. */
@Global()
@Module({
  providers: [
    Overload,
    QueryTextGuard,
    RequestMetrics,
    Shutdown,
    { provide: APP_FILTER, useClass: ErrorFilter },
  ],
  exports: [Overload, QueryTextGuard, Shutdown],
})
export class HttpModule {}
