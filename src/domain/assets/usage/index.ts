export { UsageModule } from './usage.module.js';
