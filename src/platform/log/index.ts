export { Log, LogModule } from './log.js';
export { createLogger, describeError, NestLog, plainUrl, redactUrl } from './logger.js';
export { clientInScope, type RequestScope, requestScope } from './request-scope.js';
