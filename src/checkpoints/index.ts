export { type Checkpoint, Checkpoints } from './checkpoints.service.js';
export { CheckpointsModule } from './checkpoints.module.js';
export { FromCursor } from './projection.params.js';
export { Projections } from './projections.js';
