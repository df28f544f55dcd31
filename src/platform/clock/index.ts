export { Clock } from './clock.js';
export { endOf, inTime } from './in-time.js';
export { isInstant, parseInstant } from './instant.js';
export { ClockModule } from './clock.module.js';
