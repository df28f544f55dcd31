export { type Checkpoint, Checkpoints } from './checkpoints.service.js';
export { CheckpointsModule } from './checkpoints.module.js';
export { FromCursor } from './projection.params.js';
export { type ProjectionOf, Projections } from './projections.js';
