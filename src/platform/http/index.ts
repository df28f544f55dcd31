export { createAdapter } from './adapter.js';
export { JsonAroundText } from './json-around-text.js';
export { addressKey, clientAddress, networkKey } from './client-address.js';
export { CONNECTIONS_PER_ADDRESS } from './connection-limit.js';
export {
  afterBody,
  bodyChunks,
  type BodyOptions,
  declaredLength,
  fromRequest,
  HELD_OF_STREAM,
  JsonBody,
  jsonBodyFactory,
  readBody,
  recheck,
} from './body.js';
export { type Place, placesOf, WorkSlot } from './place.js';
export { parseEntityTags, parseIfMatch } from './entity-tags.js';
export { ErrorFilter, errorAnswer, type ErrorAnswer } from './error-filter.js';
export * from './api-errors.js';
export { notFoundIfPurged } from './gone-workspace.js';
export { corsOptions, securityHeaders } from './headers.js';
export { HttpModule } from './http.module.js';
export { asName, isEncodedUtf8, IsInstant, IsName, NAME_RULE, utf8Of } from './text.js';
export { InFlightRequests } from './in-flight.js';
export { isHealth, Overload } from './overload.js';
export { QueryTextGuard } from './query-text.guard.js';
export { parseJsonObject } from './json.js';
export { isStrictBody, refuseUnknownMembers, StrictBody } from './strict-body.js';
export { ReadAhead, sendChunks, sendJsonList, sendJsonText, whileRead } from './json-response.js';
export { Shutdown } from './shutdown.js';
