export { HealthModule } from './health.module.js';
export { type Readiness, ReadinessCheck } from '../../platform/readiness/readiness.js';
