import { type DynamicModule, Module } from '@nestjs/common';
import { APP_FILTER } from '@nestjs/core';
import { QueryTextGuard } from './adapter.js';
import { ErrorFilter } from './api-errors.js';
import { InFlightRequests, RequestMetrics } from './in-flight.js';
import { Overload, Shutdown } from './overload.js';

export { createAdapter, notFoundIfPurged, QueryTextGuard } from './adapter.js';
export { JsonAroundText, parseEntityTags, parseIfMatch } from './json-around-text.js';
export { addressKey, clientAddress, networkKey } from './client-address.js';
export { CONNECTIONS_PER_ADDRESS } from './connections.js';
export {
  afterBody,
  bodyChunks,
  type BodyOptions,
  declaredLength,
  fromRequest,
  HELD_OF_STREAM,
  isStrictBody,
  JsonBody,
  jsonBodyFactory,
  readBody,
  recheck,
  refuseUnknownMembers,
  StrictBody,
} from './body.js';
export {
  asName,
  isEncodedUtf8,
  IsInstant,
  IsName,
  NAME_RULE,
  type Place,
  placesOf,
  utf8Of,
  WorkSlot,
} from './place.js';
export { ErrorFilter, errorAnswer, type ErrorAnswer } from './api-errors.js';
export * from './api-errors.js';
export {
  corsOptions,
  parseJsonObject,
  ReadAhead,
  securityHeaders,
  sendChunks,
  sendJsonList,
  sendJsonText,
  whileRead,
} from './json-response.js';
export { InFlightRequests } from './in-flight.js';
export { isHealth, Overload, Shutdown } from './overload.js';

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
