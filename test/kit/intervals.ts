import { SchedulerRegistry } from '@nestjs/schedule';
import type { TestService } from './service.js';

/** Stops all periodic work of an instance. */
export function stopIntervals({ app }: TestService): void {
  const intervals = app.get(SchedulerRegistry, { strict: false });
  for (const name of intervals.getIntervals()) intervals.deleteInterval(name);
}
