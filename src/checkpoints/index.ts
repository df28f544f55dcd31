export { type Checkpoint, Checkpoints } from './checkpoints.service.js';
export { CheckpointsModule } from './checkpoints.module.js';
export { FromCursor } from './projection-queries.js';
export { Projections } from './projections.js';
