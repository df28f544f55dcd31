export { StoredCheckpoint } from './checkpoint.entity.js';
export { type Checkpoint, Checkpoints } from './checkpoints.service.js';
export { CheckpointsModule } from './checkpoints.module.js';
export { FromCursor } from './checkpoints.controller.js';
export { type ProjectionOf, Projections } from './projections.js';
