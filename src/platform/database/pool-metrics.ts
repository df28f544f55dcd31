import { Injectable } from '@nestjs/common';
import { Metrics } from '../metrics/index.js';
import { Database } from './database.js';

/** The pool of this instance in numbers. */
@Injectable()
export class PoolMetrics {
  constructor(database: Database, metrics: Metrics) {
    metrics.gauge(
      'cloud_sync_database_pool',
      'Connections that are open, those of them that are idle, and statements that wait for one',
      ['state'],
      () => {
        const { totalCount, idleCount } = database.pool;
        return [
          { labels: { state: 'open' }, value: totalCount },
          { labels: { state: 'idle' }, value: idleCount },
          { labels: { state: 'waiting' }, value: database.waiting },
        ];
      },
    );
  }
}
