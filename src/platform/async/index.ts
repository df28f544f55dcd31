export { CoalescingRunner } from './coalescing-runner.js';
