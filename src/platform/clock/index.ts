export { Clock, ClockModule, drained, inTime, isInstant, parseInstant } from './clock.js';
