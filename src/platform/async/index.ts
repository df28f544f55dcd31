export { CoalescingRunner } from './coalescing-runner.js';
export { TurnGatherer } from './turn-gatherer.js';
