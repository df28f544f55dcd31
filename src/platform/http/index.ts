export { createAdapter } from './adapter.js';
export { bodyChunks, ClientGone, JsonBody, readBody } from './body.js';
export { errorAnswer, type ErrorAnswer } from './error-filter.js';
export * from './errors.js';
export { corsOptions, securityHeaders } from './headers.js';
export { HttpModule } from './http.module.js';
export { IsInstant, IsName } from './text.js';
export { InFlightRequests } from './in-flight.js';
export { parseJsonObject } from './json.js';
