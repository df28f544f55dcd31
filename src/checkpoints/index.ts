export { Checkpoints } from './checkpoints.service.js';
export { CheckpointsModule } from './checkpoints.module.js';
export { Projections } from './projections.js';
