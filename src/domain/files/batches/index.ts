export { BatchesModule } from './batches.module.js';
