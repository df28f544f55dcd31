export { HandoffModule } from './handoff.module.js';
