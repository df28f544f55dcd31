export type { RotationPlan, RotationStep } from './rotation-plan.js';
export type { RotationProgress } from './rotation-copy.js';
export { rotate, type Rotation, type RotationRecord, type RotationStore } from './rotate.js';
