export { Log } from './log.js';
export { LogModule } from './log.module.js';
export { createLogger, describeError, NestLog, plainUrl, redactUrl } from './logger.js';
export { requestId } from './request-id.js';
