export { Log } from './log.js';
export { LogModule } from './log.module.js';
export { createLogger, describeError, NestLog, plainUrl, redactUrl } from './logger.js';
export { type RequestScope, requestScope } from './request-scope.js';
