export { CoalescingRunner } from './coalescing-runner.js';
export { Gatherer } from './gatherer.js';
export { KeyedCounter } from './keyed-counter.js';
export { Roster } from './roster.js';
