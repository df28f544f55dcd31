export { Log } from './log.js';
export { LogModule } from './log.module.js';
export { createLogger, describeError, NestLog, redactUrl } from './logger.js';
