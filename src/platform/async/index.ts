export { CoalescingRunner } from './coalescing-runner.js';
export { BatchLoader } from './batch-loader.js';
export { KeyedCounter } from './keyed-counter.js';
export { DenseSet } from './dense-set.js';
export { EventLoopYield } from './event-loop-yield.js';
