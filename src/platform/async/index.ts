export { CoalescingRunner } from './coalescing-runner.js';
export { Gatherer } from './gatherer.js';
export { Roster } from './roster.js';
