export { CoalescingRunner } from './coalescing-runner.js';
export { Gatherer } from './gatherer.js';
