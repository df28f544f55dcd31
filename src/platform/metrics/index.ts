export { type Counter, type Histogram, Metrics, type Reading } from './metrics.js';
export { MetricsModule } from './metrics.module.js';
export { MetricsServer } from './metrics-server.js';
