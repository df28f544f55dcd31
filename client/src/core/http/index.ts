export type { Bandwidth } from './bandwidth.js';
export { chunksIn, collect, type RequestBody, type StreamedBody, streamOf } from './bodies.js';
export { ApiError, InvalidAnswer, NetworkError, SignInRequired, SilenceError } from './errors.js';
export { Http, type HttpOptions } from './http.js';
export type { HttpRequest } from './request.js';
export { retryAfterMs, type RetryOptions } from './retries.js';
export {
  checkToken,
  fixedToken,
  RenewedToken,
  sendAuthorized,
  type Token,
  type TokenProvider,
} from './tokens.js';
