import { SchedulerRegistry } from '@nestjs/schedule';
import type { TestService } from './service.js';

/** Stops everything that an instance does at intervals by itself. */
export function stopIntervals({ app }: TestService): void {
  const intervals = app.get(SchedulerRegistry, { strict: false });
  for (const name of intervals.getIntervals()) intervals.deleteInterval(name);
}
