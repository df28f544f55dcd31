import { SchedulerRegistry } from '@nestjs/schedule';
import type { TestService } from './service.js';

/** From now on an instance does by itself nothing that it does at intervals. */
export function stopIntervals({ app }: TestService): void {
  const intervals = app.get(SchedulerRegistry, { strict: false });
  for (const name of intervals.getIntervals()) intervals.deleteInterval(name);
}
