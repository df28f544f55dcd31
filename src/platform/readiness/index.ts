export { type Readiness, ReadinessCheck, ReadinessModule } from './readiness.js';
